#include "net/http_session.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/system/system_error.hpp>

#include "net/http_text.hpp"
#include "net/request_check.hpp"
#include "reactor/task_group.hpp"

namespace koordlet::net {
namespace asio = boost::asio;
namespace http = boost::beast::http;
using reactor::use_ec;
namespace {

constexpr std::size_t kReadBytes = 16 * 1024;
constexpr std::size_t kLingerBytes = 256 * 1024;
constexpr std::chrono::milliseconds kLingerTime{1000};
constexpr std::size_t kWriteBytesPerSecond = 128 * 1024;

}  // namespace

/// A fresh parser a message, and what its reading ended with.
struct HttpSession::Reader {
  http::request_parser<http::string_body> parser;
  std::optional<HttpResponse> refusal;  ///< the connection cannot go on after it

  explicit Reader(const HttpServer::Limits& limits) {
    parser.eager(true);
    parser.header_limit(static_cast<std::uint32_t>(limits.max_header));
    parser.body_limit(limits.max_body);
  }
  bool wants_continue() const {
    return parser.is_header_done() &&
           boost::beast::iequals(parser.get()[http::field::expect], "100-continue");
  }
};

bool SessionContext::evict_oldest_idle() {
  HttpSession* oldest = nullptr;
  for (HttpSession* session : open) {
    if (session->idle() && (oldest == nullptr || session->idle_since() < oldest->idle_since()))
      oldest = session;
  }
  if (oldest == nullptr) return false;
  oldest->evict();
  return true;
}

HttpSession::HttpSession(std::shared_ptr<SessionContext> context,
                         Socket socket,
                         bool unix_peer,
                         Kind kind)
    : context_{std::move(context)},
      socket_{std::move(socket)},
      deadline_{socket_.get_executor()},
      unix_peer_{unix_peer},
      kind_{kind} {
  if (kind_ == Kind::kServe) {
    context_->open.insert(this);
  } else {
    ++context_->refusing;
  }
}

HttpSession::~HttpSession() {
  leave();
  if (kind_ == Kind::kRefuse) --context_->refusing;
}

void HttpSession::leave() { context_->open.erase(this); }

void HttpSession::evict() {
  leave();
  boost::system::error_code ignored;
  socket_.close(ignored);
}

void HttpSession::set_idle(bool idle) {
  idle_ = idle;
  if (idle) idle_since_ = std::chrono::steady_clock::now();
}

void HttpSession::arm(std::chrono::milliseconds limit) {
  timed_out_ = false;
  deadline_.expires_after(limit);
  deadline_.async_wait([weak = weak_from_this()](const boost::system::error_code& ec) {
    if (ec) return;
    if (const auto self = weak.lock()) self->on_deadline();
  });
}

void HttpSession::on_deadline() {
  // The deadline may have been moved while this call was already in the queue.
  if (deadline_.expiry() > std::chrono::steady_clock::now()) return;
  timed_out_ = true;
  boost::system::error_code ignored;
  socket_.cancel(ignored);
}

asio::awaitable<void> HttpSession::run(std::shared_ptr<HttpSession> self) {
  if (self->kind_ == Kind::kRefuse) {
    Reply reply;
    reply.response = problem(503, "too many connections");
    co_await self->write_reply(std::move(reply));
    co_await self->linger();
    co_return;
  }
  bool more = true;
  while (more) more = co_await self->serve_one();
  self->deadline_.cancel();
}

asio::awaitable<std::size_t> HttpSession::fill(std::size_t at_most) {
  if (timed_out_ || !socket_.is_open()) co_return 0;
  const std::size_t before = unread_.size();
  unread_.resize(before + at_most);
  const auto target = asio::buffer(unread_.data() + before, at_most);
  const auto [ec, size] = co_await socket_.async_read_some(target, use_ec);
  unread_.resize(before + (ec ? 0 : size));
  co_return ec ? 0 : size;
}

/// False: the peer went away, or nothing came in time; there is nobody to answer.
asio::awaitable<bool> HttpSession::read_request(Reader& reader) {
  if (unread_.empty()) {
    set_idle(true);
    arm(context_->limits.idle_timeout);
    const std::size_t got = co_await fill(kReadBytes);
    set_idle(false);
    if (got == 0) co_return false;
  }
  arm(context_->limits.request_timeout);
  bool told_to_go_on = false;
  for (;;) {
    boost::system::error_code ec;
    const std::size_t used = reader.parser.put(asio::buffer(unread_), ec);
    unread_.erase(0, used);
    if (ec && ec != http::error::need_more) {
      reader.refusal = parser_problem(ec);
      co_return true;
    }
    if (reader.parser.is_done()) co_return true;
    if (!ec && used > 0 && !unread_.empty()) continue;
    if (reader.wants_continue() && !std::exchange(told_to_go_on, true)) {
      static constexpr std::string_view kGoOn = "HTTP/1.1 100 Continue\r\n\r\n";
      const auto bytes = asio::buffer(kGoOn);
      co_await asio::async_write(socket_, bytes, use_ec);  // a failure shows in the read
    }
    const std::size_t got = co_await fill(kReadBytes);
    if (got != 0) continue;
    if (!timed_out_) co_return false;
    reader.refusal = problem(408, "the request did not arrive in time");
    co_return true;
  }
}

asio::awaitable<HttpResponse> HttpSession::ask_handler(HttpRequest request) {
  HttpResponse response;
  std::exception_ptr failure;
  try {
    if (context_->async_handler) {
      auto pending = context_->async_handler(std::move(request));
      response = co_await std::move(pending);
    } else {
      response = context_->handler(request);
    }
  } catch (...) {
    failure = std::current_exception();
  }
  if (failure) {
    const auto state = co_await asio::this_coro::cancellation_state;
    if (reactor::is_stopped(state)) std::rethrow_exception(failure);
    co_return problem(500, "the request could not be answered");
  }
  if (response.status < 200 || response.status > 599)
    co_return problem(500, "the request could not be answered");
  co_return response;
}

/// True: the connection may serve another request.
asio::awaitable<bool> HttpSession::serve_one() {
  const auto reader = std::make_unique<Reader>(context_->limits);
  const bool arrived = co_await read_request(*reader);
  if (!arrived) co_return false;
  Reply reply;
  if (reader->refusal) {
    reply.response = std::move(*reader->refusal);
    co_await write_reply(std::move(reply));
    co_await linger();
    co_return false;
  }
  auto& message = reader->parser.get();
  reply.keep_alive = message.keep_alive();
  reply.with_body = message.method() != http::verb::head;
  auto checked = check_request(message, unix_peer_);
  if (auto* refusal = std::get_if<Refusal>(&checked)) {
    reply.response = std::move(refusal->response);
    reply.extra = refusal->extra;
  } else {
    HttpRequest request = std::move(std::get<HttpRequest>(checked));
    reply.response = co_await ask_handler(std::move(request));
  }
  const bool keep_alive = reply.keep_alive;
  const bool written = co_await write_reply(std::move(reply));
  if (written && !keep_alive) co_await linger();
  co_return written&& keep_alive;
}

asio::awaitable<bool> HttpSession::write_reply(Reply reply) {
  const HttpResponse& response = reply.response;
  const std::string head = response_head(response, reply.keep_alive, reply.extra);
  const bool bodiless = !reply.with_body || response.status == 204 || response.status == 304;
  const std::array<asio::const_buffer, 2> parts{
      asio::buffer(head), bodiless ? asio::const_buffer{} : asio::buffer(response.body)};
  arm(context_->limits.request_timeout +
      std::chrono::seconds{response.body.size() / kWriteBytesPerSecond});
  ++context_->requests;
  const auto [ec, size] = co_await asio::async_write(socket_, parts, use_ec);
  co_return !ec && !timed_out_;
}

/// Closing with unread input would make the kernel reset the connection, and the peer might lose
/// the answer: tell it that no more comes, and read on for a moment.
asio::awaitable<void> HttpSession::linger() {
  boost::system::error_code ec;
  socket_.shutdown(Socket::shutdown_send, ec);
  if (ec) co_return;
  set_idle(true);
  arm(std::min(kLingerTime, context_->limits.request_timeout));
  for (std::size_t total = 0; total < kLingerBytes;) {
    unread_.clear();
    const std::size_t got = co_await fill(kReadBytes);
    if (got == 0) break;
    total += got;
  }
}

}  // namespace koordlet::net
