#include "net/http2_client.hpp"

#include <algorithm>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include "net/http2_connection.hpp"

namespace koordlet::net {
namespace asio = boost::asio;
namespace {

constexpr auto kUseEc = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t kMaxPath = 107;  // sockaddr_un

Error late(const std::string& name) { return {Errc::kBusy, name + ": no answer in time"}; }

Error connect_error(int err, const std::string& name) {
  auto error = errno_error(err, name, "connect");
  if (err == ECONNREFUSED) error = {Errc::kBusy, name + ": nobody listens there"};
  return error;
}

}  // namespace

const std::string* find_header(const Http2Headers& headers, std::string_view name) {
  const auto at =
      std::find_if(headers.begin(), headers.end(), [&](const auto& h) { return h.first == name; });
  return at == headers.end() ? nullptr : &at->second;
}

class Http2Client::Connection : public Http2Connection {
 public:
  using Http2Connection::Http2Connection;
};

Http2Client::Http2Client(asio::any_io_executor ex, Options options)
    : ex_{std::move(ex)}, options_{std::move(options)} {}

Http2Client::~Http2Client() {
  if (connection_) connection_->close({Errc::kIo, options_.socket + ": the client ended"});
}

std::uint64_t Http2Client::connections() const { return connections_; }

asio::awaitable<Result<std::shared_ptr<Http2Client::Connection>>> Http2Client::connected(
    std::chrono::steady_clock::time_point deadline) {
  using Answer = Result<std::shared_ptr<Connection>>;
  if (connection_ && connection_->is_usable()) co_return Answer{connection_};
  if (options_.socket.empty() || options_.socket.size() > kMaxPath) {
    co_return Answer{Error{
        Errc::kRange,
        fmt::format("socket '{}': expected a path of 1 to {} bytes", options_.socket, kMaxPath)}};
  }
  // A unix socket connects at once or not at all.
  asio::local::stream_protocol::socket socket{ex_};
  boost::system::error_code ec;
  socket.open(asio::local::stream_protocol{}, ec);
  if (!ec) socket.non_blocking(true, ec);
  if (!ec) socket.connect(asio::local::stream_protocol::endpoint{options_.socket}, ec);
  if (ec) co_return Answer{connect_error(ec.value(), options_.socket)};
  if (std::chrono::steady_clock::now() >= deadline) co_return Answer{late(options_.socket)};
  // One that drains finishes its calls: their coroutines hold it.
  connection_ = std::make_shared<Connection>(std::move(socket), options_.socket, options_.max_body);
  ++connections_;
  if (const auto started = connection_->start(); !started) co_return Answer{started.error()};
  co_return Answer{connection_};
}

asio::awaitable<Result<Http2Answer>> Http2Client::post(Http2Request request) {
  const auto deadline = std::chrono::steady_clock::now() + options_.timeout;
  for (int attempt = 0;; ++attempt) {
    auto connection = co_await connected(deadline);
    if (!connection) co_return connection.error();
    auto held = *connection;
    auto outcome = co_await held->post(request, deadline);
    if (outcome.answer || !outcome.may_repeat || attempt > 0) co_return std::move(outcome.answer);
  }
}

}  // namespace koordlet::net
