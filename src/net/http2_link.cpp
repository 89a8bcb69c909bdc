#include "net/http2_link.hpp"

#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>

#include "base/scoped_flag.hpp"

namespace koordlet::net {
namespace asio = boost::asio;
namespace {

constexpr std::size_t kInbox = 64 * 1024;  // bytes of one read, and of the work of one handler

}  // namespace

Http2Link::Http2Link(Socket socket, Options options)
    : socket_{std::move(socket)}, options_{std::move(options)}, inbox_(kInbox) {}

Result<void> Http2Link::start() {
  const auto made = make_session();
  if (!made) return made;
  read();
  write();
  return {};
}

std::size_t Http2Link::waiting_bytes() const {
  std::size_t out = 0;
  for (const auto& [id, s] : streams_)
    out += s->in_.size() - s->in_at_ + s->out_.size() - s->out_at_;
  return out;
}

void Http2Link::end(Http2Stream& stream) {
  stream.over_ = true;
  stream.link_ = nullptr;
}

void Http2Link::close() {
  if (closed_) return;
  closed_ = true;
  boost::system::error_code ignored;
  socket_.close(ignored);
  for (const auto& [id, stream] : std::exchange(streams_, {})) {
    stream->lost_ = true;
    end(*stream);
    note(stream);
  }
  if (!busy_) settle();
  if (options_.on_close) std::exchange(options_.on_close, {})();
}

void Http2Link::note(const StreamPtr& stream) {
  if (std::exchange(stream->noted_, true)) return;
  changed_.push_back(stream);
}

void Http2Link::tell(Http2Stream& stream) {
  if (const auto watcher = stream.watcher_) watcher->changed(stream);
  if (stream.over_) stream.watcher_.reset();
}

void Http2Link::settle() {
  while (!begun_.empty() || !changed_.empty()) {
    for (const auto& stream : std::exchange(begun_, {}))
      if (options_.on_stream && !stream->over_) options_.on_stream(stream);
    for (const auto& stream : std::exchange(changed_, {})) {
      stream->noted_ = false;
      tell(*stream);
    }
  }
}

void Http2Link::read() {
  socket_.async_read_some(
      asio::buffer(inbox_),
      [self = shared_from_this()](const boost::system::error_code& ec, std::size_t n) {
        if (self->closed_) return;
        if (ec) return self->close();
        bool sound = false;
        {
          const ScopedFlag busy{self->busy_};
          sound = self->receive(self->inbox_.data(), n);
          self->settle();
        }
        self->write();
        if (!sound) self->close();
        if (!self->closed_) self->read();
      });
}

void Http2Link::flush() {
  if (busy_ || writing_ || posted_ || closed_) return;
  posted_ = true;
  asio::post(socket_.get_executor(), [self = shared_from_this()] {
    self->posted_ = false;
    self->write();
  });
}

void Http2Link::write() {
  if (writing_ || closed_) return;
  bool sound = false;
  {
    const ScopedFlag busy{busy_};
    sound = fill_outbox();
  }
  if (!sound) return close();
  writing_ = !outbox_.empty();
  if (writing_) {
    asio::async_write(
        socket_,
        asio::buffer(outbox_),
        [self = shared_from_this()](const boost::system::error_code& ec, std::size_t) {
          self->writing_ = false;
          if (self->closed_) return;
          if (ec) return self->close();
          self->write();
        });
  }
  // Watchers may put more; that goes out behind this write.
  settle();
  if (!writing_ && !closed_ && is_done()) close();
}

void Http2Stream::watch(std::shared_ptr<Http2Watcher> watcher) {
  const auto told = watcher;
  watcher_ = over_ ? nullptr : std::move(watcher);
  told->changed(*this);
}

void Http2Stream::drop(std::string& bytes, std::size_t& at, std::size_t size) {
  at += size;
  // Moving what is left each time would cost more than the place of what is gone.
  if (at < bytes.size() && at < kHttp2Room) return;
  bytes.erase(0, at);
  at = 0;
}

void Http2Stream::take(std::size_t size) {
  drop(in_, in_at_, size);
  if (link_ != nullptr && size > 0) link_->consumed(*this, size);
}

void Http2Stream::respond(const Http2Headers& head, bool end) {
  if (link_ == nullptr || responded_) return;
  responded_ = true;
  out_ended_ = end;
  link_->respond(*this, head, end);
}

std::size_t Http2Stream::room() const {
  const auto held = out_.size() - out_at_;
  return link_ == nullptr || held >= kHttp2Room ? 0 : kHttp2Room - held;
}

void Http2Stream::put(std::string_view bytes) {
  if (link_ == nullptr || out_ended_ || bytes.empty()) return;
  out_ += bytes;
  link_->resume(*this);
}

void Http2Stream::finish(Http2Headers trailers) {
  if (link_ == nullptr || out_ended_) return;
  out_ended_ = true;
  out_trailers_ = std::move(trailers);
  link_->resume(*this);
}

void Http2Stream::reset(std::uint32_t code) {
  watcher_.reset();
  if (link_ != nullptr) link_->reset(*this, code);
}

}  // namespace koordlet::net
