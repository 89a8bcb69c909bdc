#include <algorithm>
#include <cstring>
#include <memory>
#include <nghttp2/nghttp2.h>

#include <fmt/format.h>

#include "net/http2_link.hpp"
#include "net/nghttp2_bytes.hpp"

namespace koordlet::net {
namespace {

constexpr std::int32_t kConnectionWindow = 4 << 20;  // opened as bytes come: bounds no memory

/// 1xx: the answer is still to come.
bool is_interim(const Http2Headers& head) {
  const auto* status = find_header(head, ":status");
  return status != nullptr && status->size() == 3 && status->front() == '1';
}

}  // namespace

struct Http2Link::Callbacks {
  static Http2Link& self(void* user) { return *static_cast<Http2Link*>(user); }
  static StreamPtr find(void* user, std::int32_t id) {
    const auto& streams = self(user).streams_;
    const auto at = streams.find(id);
    return at == streams.end() ? nullptr : at->second;
  }

  static int on_begin(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    if (frame->hd.type != NGHTTP2_HEADERS) return 0;
    auto& c = self(user);
    const auto id = frame->hd.stream_id;
    if (const auto s = find(user, id)) {
      s->header_bytes_ = 0;
    } else if (c.options_.on_stream && frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
      const auto made = std::make_shared<Http2Stream>(c);
      made->id_ = id;
      c.streams_.emplace(id, made);
    }
    return 0;
  }

  static int on_header(nghttp2_session*,
                       const nghttp2_frame* frame,
                       const std::uint8_t* name,
                       std::size_t name_size,
                       const std::uint8_t* value,
                       std::size_t value_size,
                       std::uint8_t,
                       void* user) {
    const auto s = find(user, frame->hd.stream_id);
    if (!s || frame->hd.type != NGHTTP2_HEADERS) return 0;
    s->header_bytes_ += name_size + value_size;
    if (s->header_bytes_ > kHttp2HeaderBytes) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    (s->has_head_ ? s->trailers_ : s->head_)
        .emplace_back(view(name, name_size), view(value, value_size));
    return 0;
  }

  static void on_head(Http2Link& c, const StreamPtr& s) {
    if (s->has_head_) return;
    if (!c.options_.on_stream && is_interim(s->head_)) {
      s->head_.clear();
      return;
    }
    s->has_head_ = true;
    if (c.options_.on_stream) c.begun_.push_back(s);
  }

  static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    auto& c = self(user);
    if (frame->hd.type == NGHTTP2_GOAWAY) c.draining_ = true;
    const bool headers = frame->hd.type == NGHTTP2_HEADERS;
    if (!headers && frame->hd.type != NGHTTP2_DATA) return 0;
    const auto s = find(user, frame->hd.stream_id);
    if (!s) return 0;
    if (headers) on_head(c, s);
    if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) s->ended_ = true;
    c.note(s);
    return 0;
  }

  static int on_data(nghttp2_session* session,
                     std::uint8_t,
                     std::int32_t id,
                     const std::uint8_t* data,
                     std::size_t size,
                     void* user) {
    nghttp2_session_consume_connection(session, size);
    const auto s = find(user, id);
    if (!s) return 0;
    s->in_.append(view(data, size));
    self(user).note(s);
    return 0;
  }

  static int on_sent(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    const bool data = frame->hd.type == NGHTTP2_DATA;
    if (!data && frame->hd.type != NGHTTP2_HEADERS) return 0;
    const auto s = find(user, frame->hd.stream_id);
    if (!s) return 0;
    if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) s->sent_end_ = true;
    if (data || s->sent_end_) self(user).note(s);
    return 0;
  }

  static int on_close(nghttp2_session*, std::int32_t id, std::uint32_t code, void* user) {
    auto& c = self(user);
    const auto s = find(user, id);
    if (!s) return 0;
    c.note(s);
    if (!s->is_done() || code != NGHTTP2_NO_ERROR) s->code_ = code;
    c.end(*s);
    c.streams_.erase(id);
    return 0;
  }

  static ssize_t read_body(nghttp2_session* session,
                           std::int32_t id,
                           std::uint8_t* to,
                           std::size_t room,
                           std::uint32_t* flags,
                           nghttp2_data_source*,
                           void* user) {
    const auto s = find(user, id);
    if (!s) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    const auto n = std::min(room, s->out_.size() - s->out_at_);
    std::memcpy(to, s->out_.data() + s->out_at_, n);
    Http2Stream::drop(s->out_, s->out_at_, n);
    const bool empty = s->out_.empty();
    if (!empty || !s->out_ended_)
      return n > 0 ? static_cast<ssize_t>(n) : static_cast<ssize_t>(NGHTTP2_ERR_DEFERRED);
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (s->out_trailers_.empty()) return static_cast<ssize_t>(n);
    *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
    const auto fields = fields_of(s->out_trailers_);
    if (nghttp2_submit_trailer(session, id, fields.data(), fields.size()) != 0)
      return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    return static_cast<ssize_t>(n);
  }
};

Result<void> Http2Link::make_session() {
  const Error no_memory{Errc::kBusy, options_.name + ": no memory for a session"};
  nghttp2_session_callbacks* made = nullptr;
  if (nghttp2_session_callbacks_new(&made) != 0) return no_memory;
  const std::unique_ptr<nghttp2_session_callbacks, decltype(&nghttp2_session_callbacks_del)>
      callbacks{made, &nghttp2_session_callbacks_del};
  nghttp2_session_callbacks_set_on_begin_headers_callback(made, &Callbacks::on_begin);
  nghttp2_session_callbacks_set_on_header_callback(made, &Callbacks::on_header);
  nghttp2_session_callbacks_set_on_frame_recv_callback(made, &Callbacks::on_frame);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(made, &Callbacks::on_data);
  nghttp2_session_callbacks_set_on_frame_send_callback(made, &Callbacks::on_sent);
  nghttp2_session_callbacks_set_on_stream_close_callback(made, &Callbacks::on_close);
  nghttp2_option* option_made = nullptr;
  if (nghttp2_option_new(&option_made) != 0) return no_memory;
  const std::unique_ptr<nghttp2_option, decltype(&nghttp2_option_del)> option{option_made,
                                                                              &nghttp2_option_del};
  nghttp2_option_set_no_auto_window_update(option.get(), 1);
  nghttp2_option_set_no_http_messaging(option.get(), 1);
  nghttp2_option_set_no_closed_streams(option.get(), 1);
  nghttp2_option_set_max_send_header_block_length(option.get(), 2 * kHttp2HeaderBytes);
  const int rc = options_.on_stream
                     ? nghttp2_session_server_new2(&session_, made, this, option.get())
                     : nghttp2_session_client_new2(&session_, made, this, option.get());
  if (rc != 0) return no_memory;
  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, static_cast<std::uint32_t>(kHttp2Window)},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, static_cast<std::uint32_t>(kHttp2HeaderBytes)},
      {options_.on_stream ? NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS : NGHTTP2_SETTINGS_ENABLE_PUSH,
       options_.on_stream ? options_.max_streams : 0}};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, std::size(settings));
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, kConnectionWindow);
  return {};
}

Http2Link::~Http2Link() {
  for (const auto& [id, stream] : streams_) end(*stream);
  nghttp2_session_del(session_);
}

Result<Http2Link::StreamPtr> Http2Link::open(const Http2Headers& head, bool end) {
  if (!is_usable()) return Error{Errc::kBusy, options_.name + ": the connection ended"};
  const auto fields = fields_of(head);
  nghttp2_data_provider body{};
  body.read_callback = &Callbacks::read_body;
  const auto id = nghttp2_submit_request(
      session_, nullptr, fields.data(), fields.size(), end ? nullptr : &body, nullptr);
  if (id < 0) {
    draining_ = true;  // out of stream ids
    return Error{Errc::kBusy, fmt::format("{}: {}", options_.name, nghttp2_strerror(id))};
  }
  auto made = std::make_shared<Http2Stream>(*this);
  made->id_ = id;
  made->responded_ = true;
  made->out_ended_ = end;
  streams_.emplace(id, made);
  flush();
  return made;
}

void Http2Link::respond(Http2Stream& stream, const Http2Headers& head, bool end) {
  const auto fields = fields_of(head);
  nghttp2_data_provider body{};
  body.read_callback = &Callbacks::read_body;
  nghttp2_submit_response(
      session_, stream.id_, fields.data(), fields.size(), end ? nullptr : &body);
  flush();
}

void Http2Link::resume(const Http2Stream& stream) {
  nghttp2_session_resume_data(session_, stream.id_);
  flush();
}

void Http2Link::consumed(const Http2Stream& stream, std::size_t size) {
  nghttp2_session_consume_stream(session_, stream.id_, size);
  flush();
}

void Http2Link::reset(Http2Stream& stream, std::uint32_t code) {
  const auto id = stream.id_;
  end(stream);
  stream.code_ = code;
  streams_.erase(id);
  nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, code);
  flush();
}

void Http2Link::drain() {
  if (!is_usable()) return;
  draining_ = true;
  const auto last = options_.on_stream ? nghttp2_session_get_last_proc_stream_id(session_) : 0;
  nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE, last, NGHTTP2_NO_ERROR, nullptr, 0);
  flush();
}

bool Http2Link::receive(const char* data, std::size_t size) {
  const auto used =
      nghttp2_session_mem_recv(session_, reinterpret_cast<const std::uint8_t*>(data), size);
  return used == static_cast<ssize_t>(size);
}

bool Http2Link::fill_outbox() { return net::fill_outbox(session_, outbox_) == 0; }

bool Http2Link::is_done() const {
  return nghttp2_session_want_read(session_) == 0 && nghttp2_session_want_write(session_) == 0;
}

}  // namespace koordlet::net
