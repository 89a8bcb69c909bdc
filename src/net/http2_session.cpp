#include <algorithm>
#include <charconv>
#include <cstring>
#include <nghttp2/nghttp2.h>

#include <fmt/format.h>

#include "net/http2_connection.hpp"
#include "net/nghttp2_bytes.hpp"

namespace koordlet::net {
namespace {

constexpr std::size_t kMaxHeaderBytes = 64 * 1024;
constexpr std::int32_t kStreamWindow = 1 << 20;      // what the peer may send ahead in one answer,
constexpr std::int32_t kConnectionWindow = 4 << 20;  // and in all of them

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
    if (!s || s->failure || frame->hd.type != NGHTTP2_HEADERS) return 0;
    s->touched = true;
    s->header_bytes += name_size + value_size;
    if (s->header_bytes > kMaxHeaderBytes) {
      s->failure =
          Error{Errc::kRange,
                fmt::format(
                    "{}: expected at most {} bytes of headers", self(user).name_, kMaxHeaderBytes)};
      return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;  // resets the stream
    }
    const auto key = view(name, name_size), text = view(value, value_size);
    if (key == ":status") {
      unsigned status = 0;
      std::from_chars(text.data(), text.data() + text.size(), status);
      s->answer.headers.clear();                     // of a 1xx before
      if (status >= 200) s->answer.status = status;  // 1xx: the answer is still to come
      return 0;
    }
    (s->answered ? s->answer.trailers : s->answer.headers).emplace_back(key, text);
    return 0;
  }

  static int on_frame(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
    auto& c = self(user);
    if (frame->hd.type == NGHTTP2_GOAWAY) c.draining_ = true;
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
    const auto s = stream(user, frame->hd.stream_id);
    if (!s || s->failure) return 0;
    if (s->answer.status >= 200) s->answered = true;
    if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return 0;
    s->ended = true;
    c.finish(*s);
    if (s->sent < s->body.size()) {  // it was not interested in the rest
      nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id, NGHTTP2_NO_ERROR);
    }
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
    const auto& answer = s->answer;
    if (size <= self(user).max_body_ - answer.prefix.size() - answer.body.size()) {
      self(user).keep(view(data, size), *s);
      return 0;
    }
    s->failure = Error{
        Errc::kRange,
        fmt::format(
            "{}: expected an answer of at most {} bytes", self(user).name_, self(user).max_body_)};
    s->answer.body = {};
    nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
    return 0;
  }

  static int on_sent(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    auto& c = self(user);
    const auto s = stream(user, frame->hd.stream_id);
    if (frame->hd.type == NGHTTP2_HEADERS && s) s->left = true;
    // What nghttp2 says of itself: the peer's frames were against the rules.
    const auto broke = [&](std::uint32_t code) {
      return Error{Errc::kParse,
                   fmt::format("{}: not HTTP/2: {}", c.name_, nghttp2_http2_strerror(code))};
    };
    if (frame->hd.type == NGHTTP2_RST_STREAM && s && !s->over && !s->failure)
      s->failure = broke(frame->rst_stream.error_code);
    if (frame->hd.type == NGHTTP2_GOAWAY && frame->goaway.error_code != NGHTTP2_NO_ERROR)
      c.complaint_ = broke(frame->goaway.error_code);
    return 0;
  }

  static int on_close(nghttp2_session*, std::int32_t id, std::uint32_t code, void* user) {
    auto& c = self(user);
    const auto s = stream(user, id);
    if (!s) return 0;
    c.streams_.erase(id);
    if (s->over) return 0;
    if (!s->failure) {
      s->lost = code == NGHTTP2_REFUSED_STREAM;
      s->failure =
          Error{Errc::kBusy,
                fmt::format("{}: the stream was reset: {}", c.name_, nghttp2_http2_strerror(code))};
    }
    c.finish(*s);
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

Result<void> Http2Connection::make_session() {
  const Error no_memory{Errc::kBusy, name_ + ": no memory for a session"};
  nghttp2_session_callbacks* callbacks = nullptr;
  if (nghttp2_session_callbacks_new(&callbacks) != 0) return no_memory;
  nghttp2_session_callbacks_set_on_header_callback(callbacks, &Callbacks::on_header);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, &Callbacks::on_frame);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, &Callbacks::on_data);
  nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, &Callbacks::on_sent);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, &Callbacks::on_close);
  const int rc = nghttp2_session_client_new(&session_, callbacks, this);
  nghttp2_session_callbacks_del(callbacks);
  if (rc != 0) return no_memory;
  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, static_cast<std::uint32_t>(kStreamWindow)}};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, std::size(settings));
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, kConnectionWindow);
  return {};
}

Result<std::int32_t> Http2Connection::submit(const Http2Request& request, Stream& stream) {
  Http2Headers head{{":method", "POST"},
                    {":scheme", "http"},
                    {":authority", "localhost"},
                    {":path", request.path}};
  head.insert(head.end(), request.headers.begin(), request.headers.end());
  const auto fields = fields_of(head);
  nghttp2_data_provider body{};
  body.source.ptr = &stream;
  body.read_callback = &Callbacks::read_body;
  const auto id =
      nghttp2_submit_request(session_, nullptr, fields.data(), fields.size(), &body, nullptr);
  if (id < 0) return Error{Errc::kBusy, fmt::format("{}: {}", name_, nghttp2_strerror(id))};
  return id;
}

void Http2Connection::keep(std::string_view data, Stream& s) const {
  auto& answer = s.answer;
  if (const auto missing = s.prefix - answer.prefix.size(); missing > 0) {
    answer.prefix += data.substr(0, missing);
    data.remove_prefix(std::min(missing, data.size()));
    if (answer.prefix.size() == s.prefix && s.size_after != nullptr)
      answer.body.reserve(std::min(s.size_after(answer.prefix), max_body_ - s.prefix));
  }
  answer.body += data;
}

void Http2Connection::reset(std::int32_t id) {
  if (!failure_) nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
}

Result<void> Http2Connection::receive(const char* data, std::size_t size) {
  const auto used =
      nghttp2_session_mem_recv(session_, reinterpret_cast<const std::uint8_t*>(data), size);
  if (used == static_cast<ssize_t>(size)) return {};
  return Error{Errc::kParse,
               fmt::format("{}: not HTTP/2: {}", name_, nghttp2_strerror(static_cast<int>(used)))};
}

Result<void> Http2Connection::fill_outbox() {
  const int rc = net::fill_outbox(session_, outbox_);
  if (rc == 0) return {};
  return Error{Errc::kIo, fmt::format("{}: {}", name_, nghttp2_strerror(rc))};
}

bool Http2Connection::is_done() const {
  return nghttp2_session_want_read(session_) == 0 && nghttp2_session_want_write(session_) == 0;
}

}  // namespace koordlet::net
