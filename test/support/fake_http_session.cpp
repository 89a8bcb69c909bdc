#include "support/fake_http_session.hpp"

#include <array>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <fmt/format.h>

#include "reactor/task_group.hpp"

namespace koordlet::test {
namespace asio = boost::asio;
namespace http = boost::beast::http;
using reactor::use_ec;
namespace {

constexpr std::size_t kReadBytes = 16 * 1024;

std::string head_of(const FakeAnswer& answer) {
  std::string out = fmt::format("HTTP/1.1 {} Scripted\r\n", answer.status);
  if (!answer.content_type.empty()) out += "Content-Type: " + answer.content_type + "\r\n";
  for (const auto& [name, value] : answer.headers) out += name + ": " + value + "\r\n";
  return out;
}

std::string text(boost::beast::string_view view) { return {view.data(), view.size()}; }

std::string peer_subject(SSL* ssl) {
  std::unique_ptr<X509, decltype(&X509_free)> cert{SSL_get1_peer_certificate(ssl), &X509_free};
  if (!cert) return {};
  std::array<char, 256> name{};
  const int size = X509_NAME_get_text_by_NID(
      X509_get_subject_name(cert.get()), NID_commonName, name.data(), name.size());
  return size > 0 ? std::string{name.data(), static_cast<std::size_t>(size)} : std::string{};
}

}  // namespace

FakeSession::FakeSession(std::shared_ptr<FakeSessions> all, asio::ip::tcp::socket socket)
    : all_{std::move(all)},
      socket_{std::move(socket)},
      context_{all_->tls},
      pause_{socket_.get_executor()},
      number_{++all_->accepted} {
  all_->open.insert(this);
  boost::system::error_code ignored;
  socket_.set_option(asio::ip::tcp::no_delay{true}, ignored);  // else 40 ms a handshake
  if (context_) tls_.emplace(socket_, *context_);
}

FakeSession::~FakeSession() { all_->open.erase(this); }

asio::awaitable<void> FakeSession::run(std::shared_ptr<FakeSession> self) {
  if (self->all_->mute) {
    boost::system::error_code ignored;
    co_await self->socket_.async_wait(asio::ip::tcp::socket::wait_error, use_ec);
    self->socket_.close(ignored);
    co_return;
  }
  const bool ready = co_await self->handshake();
  bool more = ready;
  while (more) {
    more = co_await self->read_request();
    const auto script = self->all_->script;  // it may be replaced while it runs
    if (!more || !script) break;
    self->all_->requests.push_back(self->request_);
    self->wrote_ = false;
    co_await (*script)(*self);
    more = self->wrote_ && self->socket_.is_open();
  }
  if (self->socket_.is_open()) co_await self->close();
}

asio::awaitable<bool> FakeSession::handshake() {
  if (!tls_) co_return true;
  const auto [ec] = co_await tls_->async_handshake(asio::ssl::stream_base::server, use_ec);
  if (ec) {
    // With unread bytes a plain close would reset the connection, and the client might lose the
    // alert that says what was wrong.
    boost::system::error_code ignored;
    socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
    std::array<char, 4096> unread;
    const auto into = asio::buffer(unread);
    bool open = true;
    while (open) {
      const auto [end, size] = co_await socket_.async_read_some(into, use_ec);
      open = !end;
    }
    shut();
    co_return false;
  }
  client_subject_ = peer_subject(tls_->native_handle());
  co_return true;
}

asio::awaitable<bool> FakeSession::fill() {
  if (!socket_.is_open()) co_return false;
  const std::size_t before = unread_.size();
  unread_.resize(before + kReadBytes);
  const auto into = asio::buffer(unread_.data() + before, kReadBytes);
  boost::system::error_code ec;
  std::size_t size = 0;
  if (tls_) {
    std::tie(ec, size) = co_await tls_->async_read_some(into, use_ec);
  } else {
    std::tie(ec, size) = co_await socket_.async_read_some(into, use_ec);
  }
  unread_.resize(before + (ec ? 0 : size));
  co_return !ec && size > 0;
}

asio::awaitable<bool> FakeSession::read_request() {
  http::request_parser<http::string_body> parser;
  parser.eager(true);
  for (;;) {
    boost::system::error_code ec;
    const std::size_t used = parser.put(asio::buffer(unread_), ec);
    unread_.erase(0, used);
    if (ec && ec != http::error::need_more) co_return false;
    if (parser.is_done()) break;
    if (!ec && used > 0 && !unread_.empty()) continue;
    const bool got = co_await fill();
    if (!got) co_return false;
  }
  auto& message = parser.get();
  request_ = {};
  request_.method = text(message.method_string());
  request_.target = text(message.target());
  for (const auto& field : message)
    request_.headers.emplace_back(text(field.name_string()), text(field.value()));
  request_.body = std::move(message.body());
  request_.connection = number_;
  request_.client_subject = client_subject_;
  co_return true;
}

asio::awaitable<bool> FakeSession::write_raw(std::string bytes) {
  wrote_ = true;
  if (!socket_.is_open()) co_return false;
  const auto from = asio::buffer(bytes);
  boost::system::error_code ec;
  std::size_t size = 0;
  if (tls_) {
    std::tie(ec, size) = co_await asio::async_write(*tls_, from, use_ec);
  } else {
    std::tie(ec, size) = co_await asio::async_write(socket_, from, use_ec);
  }
  co_return !ec;
}

asio::awaitable<bool> FakeSession::answer(FakeAnswer answer) {
  std::string bytes = head_of(answer);
  const bool bodiless = answer.status == 204 || answer.status == 304;
  if (!bodiless) bytes += fmt::format("Content-Length: {}\r\n", answer.body.size());
  bytes += "\r\n";
  if (!bodiless && request_.method != "HEAD") bytes += answer.body;
  return write_raw(std::move(bytes));
}

asio::awaitable<bool> FakeSession::start_chunks(FakeAnswer head) {
  return write_raw(head_of(head) + "Transfer-Encoding: chunked\r\n\r\n");
}

asio::awaitable<bool> FakeSession::write_chunk(std::string piece) {
  return write_raw(fmt::format("{:x}\r\n{}\r\n", piece.size(), piece));
}

asio::awaitable<bool> FakeSession::end_chunks() { return write_raw("0\r\n\r\n"); }

asio::awaitable<void> FakeSession::wait(std::chrono::milliseconds time) {
  pause_.expires_after(time);
  co_await pause_.async_wait(use_ec);
}

asio::awaitable<void> FakeSession::silence() {
  bool open = true;
  while (open) {
    unread_.clear();
    open = co_await fill();
  }
  shut();
}

void FakeSession::shut() {
  boost::system::error_code ignored;
  pause_.cancel();
  socket_.close(ignored);
}

asio::awaitable<void> FakeSession::close() {
  wrote_ = true;
  // One call queues close_notify; the client's own is not waited for beyond its FIN.
  if (tls_) co_await tls_->async_shutdown(use_ec);
  shut();
}

void FakeSession::truncate() {
  wrote_ = true;
  shut();
}

void FakeSession::reset() {
  wrote_ = true;
  boost::system::error_code ignored;
  socket_.set_option(asio::socket_base::linger{true, 0}, ignored);
  shut();
}

}  // namespace koordlet::test
