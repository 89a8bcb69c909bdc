#include "net/http2_connection.hpp"

#include <nghttp2/nghttp2.h>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>

#include "reactor/task_group.hpp"

namespace koordlet::net {
namespace asio = boost::asio;
using reactor::use_ec;
namespace {

constexpr std::size_t kInbox = 64 * 1024;  // bytes of one read, and of the work of one handler

}  // namespace

Http2Connection::Http2Connection(asio::local::stream_protocol::socket socket,
                                 std::string name,
                                 std::size_t max_body)
    : socket_{std::move(socket)}, name_{std::move(name)}, max_body_{max_body}, inbox_(kInbox) {}

Http2Connection::~Http2Connection() { nghttp2_session_del(session_); }

Result<void> Http2Connection::start() {
  const auto made = make_session();
  if (!made) return made;
  read();
  write();
  return {};
}

void Http2Connection::finish(Stream& stream) {
  stream.over = true;
  stream.wake.cancel();
}

void Http2Connection::close(Error why) {
  if (failure_) return;
  failure_ = std::move(why);
  boost::system::error_code ignored;
  socket_.close(ignored);
  // nghttp2 still points at the streams, but is not called any more.
  for (const auto& [id, stream] : std::exchange(streams_, {})) {
    if (stream->over) continue;
    if (!stream->failure) {
      stream->failure = failure_;
      stream->lost = failure_->code == Errc::kBusy;
    }
    finish(*stream);
  }
}

void Http2Connection::close_when_drained() {
  if (draining_ && calls_ == 0) close({Errc::kBusy, name_ + ": the connection was given up"});
}

void Http2Connection::read() {
  socket_.async_read_some(
      asio::buffer(inbox_),
      [self = shared_from_this()](const boost::system::error_code& ec, std::size_t n) {
        if (self->failure_) return;
        if (ec) {
          self->close({Errc::kBusy, self->name_ + ": the peer closed: " + ec.message()});
          return;
        }
        self->heard_ = true;
        const auto ok = self->receive(self->inbox_.data(), n);
        self->write();
        if (!ok) self->close(ok.error());
        self->close_when_drained();
        if (!self->failure_) self->read();
      });
}

void Http2Connection::write() {
  if (writing_ || failure_) return;
  if (const auto filled = fill_outbox(); !filled) {
    close(filled.error());
    return;
  }
  if (outbox_.empty()) {
    const Error went{Errc::kBusy, name_ + ": the peer went away"};
    if (is_done()) close(complaint_.value_or(went));
    return;
  }
  writing_ = true;
  asio::async_write(socket_,
                    asio::buffer(outbox_),
                    [self = shared_from_this()](const boost::system::error_code& ec, std::size_t) {
                      self->writing_ = false;
                      if (!ec) {
                        self->write();
                        return;
                      }
                      // The last answers may still wait to be read; their end closes.
                      self->draining_ = true;
                      self->writing_ = true;
                      self->close_when_drained();
                    });
}

asio::awaitable<Http2Connection::Outcome> Http2Connection::post(
    const Http2Request& request, std::chrono::steady_clock::time_point deadline) {
  const auto self = shared_from_this();
  const auto stream = std::make_shared<Stream>(socket_.get_executor(), request);
  const auto id = submit(request, *stream);
  if (!id) {
    draining_ = true;  // out of stream ids
    close_when_drained();
    Outcome out{id.error(), true};
    co_return out;
  }
  streams_.emplace(*id, stream);
  ++calls_;
  write();
  stream->wake.expires_at(deadline);
  boost::system::error_code cancelled;
  if (!stream->over) {
    const auto [ec] = co_await stream->wake.async_wait(use_ec);
    cancelled = ec;
  }
  --calls_;
  if (!stream->over) {
    // It stays in streams_ until nghttp2 has closed it: its body may still be asked for.
    const Error late{Errc::kBusy, name_ + ": no answer in time"};
    const Error stopped{Errc::kIo, name_ + ": cancelled"};
    if (!stream->failure) stream->failure = cancelled ? stopped : late;
    // A peer that in all that time took no request, or said nothing, does not get the next calls.
    if (!cancelled && (!stream->left || !heard_)) draining_ = true;
    reset(*id);
    write();
  }
  close_when_drained();
  Outcome out{std::move(stream->answer), stream->lost && !stream->touched};
  if (stream->failure) out.answer = *stream->failure;
  co_return out;
}

}  // namespace koordlet::net
