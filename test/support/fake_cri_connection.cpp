#include <algorithm>
#include <cstring>
#include <nghttp2/nghttp2.h>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>

#include "support/fake_cri_state.hpp"

namespace koordlet::test {
namespace asio = boost::asio;
using boost::system::error_code;
namespace {

constexpr std::size_t kPrefix = 5;

std::vector<nghttp2_nv> fields_of(const GrpcHeaders& headers) {
  const auto bytes = [](const std::string& s) {
    return reinterpret_cast<std::uint8_t*>(const_cast<char*>(s.data()));
  };
  std::vector<nghttp2_nv> out;
  for (const auto& [name, value] : headers)
    out.push_back({bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE});
  return out;
}

GrpcHeaders trailers_of(const GrpcAnswer& answer) {
  GrpcHeaders out;
  if (answer.status) out.emplace_back("grpc-status", std::to_string(*answer.status));
  if (!answer.words.empty()) out.emplace_back("grpc-message", answer.words);
  return out;
}

}  // namespace

struct FakeCriConnection::Callbacks {
  static FakeCriConnection& self(void* user) { return *static_cast<FakeCriConnection*>(user); }

  static int on_header(nghttp2_session*,
                       const nghttp2_frame* frame,
                       const std::uint8_t* name,
                       std::size_t name_size,
                       const std::uint8_t* value,
                       std::size_t value_size,
                       std::uint8_t,
                       void* user) {
    self(user).streams_[frame->hd.stream_id].call.headers.emplace_back(
        std::string{reinterpret_cast<const char*>(name), name_size},
        std::string{reinterpret_cast<const char*>(value), value_size});
    return 0;
  }

  static int on_data(nghttp2_session*,
                     std::uint8_t,
                     std::int32_t id,
                     const std::uint8_t* data,
                     std::size_t size,
                     void* user) {
    self(user).streams_[id].body.append(reinterpret_cast<const char*>(data), size);
    return 0;
  }

  static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    auto& c = self(user);
    const auto& hd = frame->hd;
    if (hd.type == NGHTTP2_RST_STREAM) c.state_->resets.push_back(frame->rst_stream.error_code);
    if (hd.type == NGHTTP2_GOAWAY) c.state_->goaways.push_back(frame->goaway.error_code);
    if (hd.type == NGHTTP2_PING && (hd.flags & NGHTTP2_FLAG_ACK) != 0) ++c.state_->pongs;
    const bool message = hd.type == NGHTTP2_HEADERS || hd.type == NGHTTP2_DATA;
    if (message && (hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) c.asked_.push_back(hd.stream_id);
    return 0;
  }

  static int on_close(nghttp2_session*, std::int32_t id, std::uint32_t, void* user) {
    self(user).streams_.erase(id);
    return 0;
  }

  static ssize_t read_body(nghttp2_session*,
                           std::int32_t id,
                           std::uint8_t* to,
                           std::size_t room,
                           std::uint32_t* flags,
                           nghttp2_data_source*,
                           void* user) {
    auto& c = self(user);
    auto& s = c.streams_.at(id);
    const auto& a = s.answer;
    const bool half = a.fault == GrpcFault::kResetHalfWay || a.fault == GrpcFault::kCloseHalfWay;
    const auto size = half ? a.body.size() / 2 : a.body.size();
    const auto n = std::min(room, size - s.sent);
    std::memcpy(to, a.body.data() + s.sent, n);
    s.sent += n;
    if (half && n == 0) {
      c.close_after_ = a.fault == GrpcFault::kCloseHalfWay;
      return c.close_after_ ? NGHTTP2_ERR_DEFERRED : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
    if (half || s.sent < size) return static_cast<ssize_t>(n);
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (a.fault == GrpcFault::kNoTrailers) return static_cast<ssize_t>(n);
    *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
    c.submit_trailers(id, s);
    return static_cast<ssize_t>(n);
  }
};

FakeCriConnection::FakeCriConnection(asio::local::stream_protocol::socket socket,
                                     std::shared_ptr<FakeCriServer::State> state)
    : socket_{std::move(socket)},
      state_{std::move(state)},
      number_{state_->accepted},
      inbox_(64 * 1024, '\0') {
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_session_callbacks_new(&callbacks);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, &Callbacks::on_header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, &Callbacks::on_data);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, &Callbacks::on_frame);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, &Callbacks::on_close);
  nghttp2_option* option = nullptr;
  nghttp2_option_new(&option);
  nghttp2_option_set_max_send_header_block_length(option, 1 << 20);
  nghttp2_session_server_new2(&session_, callbacks, this, option);
  nghttp2_option_del(option);
  nghttp2_session_callbacks_del(callbacks);
}

FakeCriConnection::~FakeCriConnection() { nghttp2_session_del(session_); }

void FakeCriConnection::start() {
  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, state_->max_streams}};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, 1);
  read();
  write();
}

void FakeCriConnection::close() {
  error_code ignored;
  socket_.close(ignored);
}

void FakeCriConnection::ping() {
  nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr);
  write();
}

void FakeCriConnection::read() {
  socket_.async_read_some(
      asio::buffer(inbox_), [self = shared_from_this()](const error_code& ec, std::size_t n) {
        if (ec || !self->is_open()) return self->close();
        const auto used = nghttp2_session_mem_recv(
            self->session_, reinterpret_cast<const std::uint8_t*>(self->inbox_.data()), n);
        if (used != static_cast<ssize_t>(n)) return self->close();
        for (const auto id : std::exchange(self->asked_, {})) self->asked(id);
        self->write();
        self->read();
      });
}

void FakeCriConnection::write() {
  if (writing_ || !is_open()) return;
  if (written_ == outbox_.size()) {
    outbox_.clear();
    written_ = 0;
    const std::uint8_t* data = nullptr;
    while (outbox_.size() < (1u << 18)) {
      const auto n = nghttp2_session_mem_send(session_, &data);
      if (n <= 0) break;
      outbox_.append(reinterpret_cast<const char*>(data), static_cast<std::size_t>(n));
    }
    outbox_ += std::exchange(raw_, {});
  }
  if (outbox_.empty()) {
    const bool over = nghttp2_session_want_read(session_) == 0;
    if (close_after_ || over) close();
    return;
  }
  writing_ = true;
  const auto size = state_->split ? 1 : outbox_.size() - written_;
  asio::async_write(socket_,
                    asio::buffer(outbox_.data() + written_, size),
                    [self = shared_from_this()](const error_code& ec, std::size_t n) {
                      self->writing_ = false;
                      if (ec) return self->close();
                      self->written_ += n;
                      self->write();
                    });
}

void FakeCriConnection::asked(std::int32_t id) {
  const auto at = streams_.find(id);
  if (at == streams_.end() || !state_->script) return;
  auto& s = at->second;
  s.call.connection = number_;
  s.call.path = s.call.header(":path");
  s.call.message = s.body.size() < kPrefix ? std::string{} : s.body.substr(kPrefix);
  state_->calls.push_back(s.call);
  s.answer = state_->script(s.call);
  if (!s.answer.held) answer(id);
}

void FakeCriConnection::release() {
  std::vector<std::int32_t> held;
  for (const auto& [id, s] : streams_)
    if (s.answer.held) held.push_back(id);
  for (const auto id : held) {
    streams_.at(id).answer.held = false;
    answer(id);
  }
  write();
}

void FakeCriConnection::answer(std::int32_t id) {
  auto& s = streams_.at(id);
  switch (s.answer.fault) {
    case GrpcFault::kSilent:
      return;
    case GrpcFault::kReset:
      nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, NGHTTP2_INTERNAL_ERROR);
      return;
    case GrpcFault::kRefuse:
      nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, NGHTTP2_REFUSED_STREAM);
      return;
    case GrpcFault::kGoAwayBefore:
      return say_goodbye(id - 2);
    case GrpcFault::kGoAway:
      say_goodbye(id);
      return send_answer(id, s);
    case GrpcFault::kClose:
      return close();
    case GrpcFault::kRaw:
      raw_ += s.answer.body;
      return;
    default:
      return send_answer(id, s);
  }
}

void FakeCriConnection::say_goodbye(std::int32_t last_id) {
  nghttp2_submit_goaway(
      session_, NGHTTP2_FLAG_NONE, std::max(last_id, 0), NGHTTP2_NO_ERROR, nullptr, 0);
}

void FakeCriConnection::send_answer(std::int32_t id, Stream& s) {
  const auto& a = s.answer;
  if (a.hints) {
    const GrpcHeaders early{{":status", "103"}, {"link", "</none>"}};
    const auto fields = fields_of(early);
    nghttp2_submit_headers(
        session_, NGHTTP2_FLAG_NONE, id, nullptr, fields.data(), fields.size(), nullptr);
  }
  GrpcHeaders head{{":status", std::to_string(a.http)}, {"content-type", "application/grpc"}};
  head.insert(head.end(), a.headers.begin(), a.headers.end());
  const bool whole = a.fault == GrpcFault::kTrailersOnly;
  if (whole) {
    const auto status = trailers_of(a);
    head.insert(head.end(), status.begin(), status.end());
  }
  const auto fields = fields_of(head);
  nghttp2_data_provider body{};
  body.read_callback = &Callbacks::read_body;
  nghttp2_submit_response(session_, id, fields.data(), fields.size(), whole ? nullptr : &body);
}

void FakeCriConnection::submit_trailers(std::int32_t id, const Stream& s) {
  const auto headers = trailers_of(s.answer);
  const auto fields = fields_of(headers);
  nghttp2_submit_trailer(session_, id, fields.data(), fields.size());
}

}  // namespace koordlet::test
