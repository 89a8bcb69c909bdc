#include "net/http2_connection.hpp"

#include <charconv>
#include <cstring>
#include <nghttp2/nghttp2.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>

namespace koordlet::net {
namespace asio = boost::asio;
namespace {

constexpr auto kUseEc = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t kInbox = 64 * 1024;
constexpr std::size_t kOutbox = 256 * 1024;  // bytes handed to one write
constexpr std::size_t kMaxHeaderBytes = 64 * 1024;
constexpr std::int32_t kWindow = 1 << 20;  // what the peer may send ahead

nghttp2_nv field(const std::string& name, const std::string& value) {
  const auto bytes = [](const std::string& s) {
    return reinterpret_cast<std::uint8_t*>(const_cast<char*>(s.data()));
  };
  return {bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
}

std::string_view view(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

std::size_t size_of(const Http2Headers& headers) {
  std::size_t out = 0;
  for (const auto& [name, value] : headers) out += name.size() + value.size();
  return out;
}

}  // namespace

struct Http2Connection::Callbacks {
  static Http2Connection& self(void* user) { return *static_cast<Http2Connection*>(user); }
  static std::shared_ptr<Stream> stream(void* user, std::int32_t id) {
    const auto& streams = self(user).streams_;
    const auto at = streams.find(id);
    return at == streams.end() ? nullptr : at->second;
  }

  static int on_header(nghttp2_session*,
                       const nghttp2_frame* frame,
                       const std::uint8_t* name,
                       std::size_t name_size,
                       const std::uint8_t* value,
                       std::size_t value_size,
                       std::uint8_t,
                       void* user) {
    const auto s = stream(user, frame->hd.stream_id);
    if (!s || frame->hd.type != NGHTTP2_HEADERS) return 0;
    s->touched = true;
    const auto key = view(name, name_size), text = view(value, value_size);
    if (key == ":status") {
      unsigned status = 0;
      std::from_chars(text.data(), text.data() + text.size(), status);
      if (status >= 200) s->answer.status = status;  // 1xx: the answer is still to come
      return 0;
    }
    auto& headers = s->answered ? s->answer.trailers : s->answer.headers;
    if (size_of(headers) + key.size() + text.size() > kMaxHeaderBytes)
      return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;  // resets the stream
    headers.emplace_back(key, text);
    return 0;
  }

  static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    auto& c = self(user);
    if (frame->hd.type == NGHTTP2_GOAWAY) c.draining_ = true;
    if (frame->hd.type != NGHTTP2_HEADERS) return 0;
    if (const auto s = stream(user, frame->hd.stream_id); s && s->answer.status >= 200)
      s->answered = true;
    return 0;
  }

  static int on_data(nghttp2_session* session,
                     std::uint8_t,
                     std::int32_t id,
                     const std::uint8_t* data,
                     std::size_t size,
                     void* user) {
    const auto s = stream(user, id);
    if (!s || s->failure) return 0;
    s->touched = true;
    if (s->answer.body.size() + size > self(user).max_body_) {
      s->failure = Error{Errc::kRange,
                         fmt::format("{}: expected an answer of at most {} bytes",
                                     self(user).name_,
                                     self(user).max_body_)};
      s->answer.body.clear();
      nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
      return 0;
    }
    s->answer.body.append(view(data, size));
    return 0;
  }

  static int on_close(nghttp2_session*, std::int32_t id, std::uint32_t code, void* user) {
    auto& c = self(user);
    const auto s = stream(user, id);
    if (!s) return 0;
    c.streams_.erase(id);
    if (s->failure || code == NGHTTP2_NO_ERROR) {
      c.finish(*s, s->failure);
    } else {
      c.finish(*s,
               Error{Errc::kBusy,
                     fmt::format(
                         "{}: the stream was reset: {}", c.name_, nghttp2_http2_strerror(code))});
    }
    return 0;
  }

  static ssize_t read_body(nghttp2_session*,
                           std::int32_t,
                           std::uint8_t* to,
                           std::size_t room,
                           std::uint32_t* flags,
                           nghttp2_data_source* source,
                           void*) {
    auto& s = *static_cast<Stream*>(source->ptr);
    const auto n = std::min(room, s.body.size() - s.sent);
    std::memcpy(to, s.body.data() + s.sent, n);
    s.sent += n;
    if (s.sent == s.body.size()) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(n);
  }
};

Http2Connection::Http2Connection(asio::local::stream_protocol::socket socket,
                                 std::string name,
                                 std::size_t max_body)
    : socket_{std::move(socket)}, name_{std::move(name)}, max_body_{max_body}, inbox_(kInbox) {}

Http2Connection::~Http2Connection() {
  if (session_ != nullptr) nghttp2_session_del(session_);
}

Result<void> Http2Connection::start() {
  nghttp2_session_callbacks* callbacks = nullptr;
  if (nghttp2_session_callbacks_new(&callbacks) != 0)
    return Error{Errc::kBusy, name_ + ": no memory for a session"};
  nghttp2_session_callbacks_set_on_header_callback(callbacks, &Callbacks::on_header);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, &Callbacks::on_frame);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, &Callbacks::on_data);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, &Callbacks::on_close);
  const int rc = nghttp2_session_client_new(&session_, callbacks, this);
  nghttp2_session_callbacks_del(callbacks);
  if (rc != 0) return Error{Errc::kBusy, fmt::format("{}: {}", name_, nghttp2_strerror(rc))};
  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, static_cast<std::uint32_t>(kWindow)}};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, std::size(settings));
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, 4 * kWindow);
  read();
  write();
  return {};
}

void Http2Connection::finish(Stream& stream, std::optional<Error> failure) {
  stream.over = true;
  if (failure) stream.failure = std::move(failure);
  stream.wake.cancel();
}

void Http2Connection::close(Error why) {
  if (failure_) return;
  failure_ = std::move(why);
  boost::system::error_code ignored;
  socket_.close(ignored);
  for (const auto& [id, stream] : std::exchange(streams_, {})) finish(*stream, failure_);
}

Result<void> Http2Connection::receive(const char* data, std::size_t size) {
  const auto used =
      nghttp2_session_mem_recv(session_, reinterpret_cast<const std::uint8_t*>(data), size);
  if (used == static_cast<ssize_t>(size)) return {};
  return Error{Errc::kParse,
               fmt::format("{}: not HTTP/2: {}", name_, nghttp2_strerror(static_cast<int>(used)))};
}

void Http2Connection::read() {
  socket_.async_read_some(
      asio::buffer(inbox_),
      [self = shared_from_this()](const boost::system::error_code& ec, std::size_t n) {
        if (self->failure_) return;
        if (ec)
          return self->close({Errc::kBusy, self->name_ + ": the peer closed: " + ec.message()});
        if (const auto ok = self->receive(self->inbox_.data(), n); !ok) {
          self->write();  // the GOAWAY that says why
          return self->close(ok.error());
        }
        self->write();
        self->read();
      });
}

void Http2Connection::write() {
  if (writing_ || failure_) return;
  outbox_.clear();
  while (outbox_.size() < kOutbox) {
    const std::uint8_t* data = nullptr;
    const auto n = nghttp2_session_mem_send(session_, &data);
    if (n < 0)
      return close(
          {Errc::kIo, fmt::format("{}: {}", name_, nghttp2_strerror(static_cast<int>(n)))});
    if (n == 0) break;
    outbox_.append(view(data, static_cast<std::size_t>(n)));
  }
  if (outbox_.empty()) {
    // Both sides said all: a connection that drains ends here.
    if (nghttp2_session_want_read(session_) == 0)
      close({Errc::kBusy, name_ + ": the peer went away"});
    return;
  }
  writing_ = true;
  asio::async_write(socket_,
                    asio::buffer(outbox_),
                    [self = shared_from_this()](const boost::system::error_code& ec, std::size_t) {
                      self->writing_ = false;
                      if (ec) return self->close({Errc::kBusy, self->name_ + ": " + ec.message()});
                      self->write();
                    });
}

asio::awaitable<Http2Connection::Outcome> Http2Connection::post(
    const Http2Request& request, std::chrono::steady_clock::time_point deadline) {
  const auto self = shared_from_this();
  auto stream = std::make_shared<Stream>(socket_.get_executor(), request.body);
  const Http2Headers fixed{{":method", "POST"},
                           {":scheme", "http"},
                           {":authority", "localhost"},
                           {":path", request.path}};
  std::vector<nghttp2_nv> fields;
  for (const auto& [name, value] : fixed) fields.push_back(field(name, value));
  for (const auto& [name, value] : request.headers) fields.push_back(field(name, value));
  nghttp2_data_provider body{};
  body.source.ptr = stream.get();
  body.read_callback = &Callbacks::read_body;
  const auto id =
      nghttp2_submit_request(session_, nullptr, fields.data(), fields.size(), &body, nullptr);
  if (id < 0) {
    draining_ = true;  // out of stream ids, or the session ends
    Outcome out{Error{Errc::kBusy, fmt::format("{}: {}", name_, nghttp2_strerror(id))}, true};
    co_return out;
  }
  streams_.emplace(id, stream);
  write();
  stream->wake.expires_at(deadline);
  if (!stream->over) co_await stream->wake.async_wait(kUseEc);
  if (!stream->over) {  // out of time, or the caller was cancelled
    // It stays in streams_ until nghttp2 says that it is closed: the body may still be asked for.
    stream->failure = Error{Errc::kBusy, name_ + ": no answer in time"};
    if (!failure_) {
      nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
      write();
    }
    Outcome out{*stream->failure, false};
    co_return out;
  }
  if (stream->failure) {
    Outcome out{*stream->failure, failure_.has_value() && !stream->touched};
    co_return out;
  }
  Outcome out{std::move(stream->answer), false};
  co_return out;
}

}  // namespace koordlet::net
