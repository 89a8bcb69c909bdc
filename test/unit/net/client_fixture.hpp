#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/this_coro.hpp>

#include "net/http_client.hpp"
#include "support/async.hpp"
#include "support/fake_http_server.hpp"
#include "support/test_certs.hpp"

namespace koordlet::test {

enum class Wire { kPlain, kTls };
inline constexpr Wire kWires[] = {Wire::kPlain, Wire::kTls};

inline const TestCa& client_test_ca() {
  static const TestCa kCa;
  return kCa;
}

inline std::shared_ptr<net::TlsContext> trusting(const std::string& ca_pem) {
  return net::TlsContext::make({ca_pem, {}, {}}).value();
}

inline std::optional<FakeHttpServer::Tls> server_tls(Wire wire) {
  if (wire == Wire::kPlain) return std::nullopt;
  static const CertAndKey kServer = client_test_ca().server();
  return FakeHttpServer::Tls{kServer, {}};
}

/// Runs the loop until `done` holds; false after ten seconds.
inline bool run_until(boost::asio::io_context& io, const std::function<bool()>& done) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{10};
  while (!done() && std::chrono::steady_clock::now() < end) {
    io.restart();
    io.run_one_for(std::chrono::milliseconds{20});
  }
  return done();
}

/// A coroutine of its own that can be cancelled.
template <class T>
class Started {
 public:
  Started(boost::asio::io_context& io, boost::asio::awaitable<T> body)
      : shared_{std::make_shared<Shared>()} {
    boost::asio::co_spawn(io,
                          store(shared_, std::move(body)),
                          boost::asio::bind_cancellation_slot(shared_->cancel.slot(), ended));
  }
  bool done() const { return shared_->out.has_value(); }
  T& out() { return *shared_->out; }
  void cancel() { shared_->cancel.emit(boost::asio::cancellation_type::terminal); }

 private:
  struct Shared {
    std::optional<T> out;
    boost::asio::cancellation_signal cancel;
  };
  static void ended(const std::exception_ptr& failure) {
    if (failure) std::rethrow_exception(failure);
  }
  static boost::asio::awaitable<void> store(std::shared_ptr<Shared> shared,
                                            boost::asio::awaitable<T> body) {
    T made = co_await std::move(body);
    shared->out.emplace(std::move(made));
    co_await boost::asio::this_coro::reset_cancellation_state(boost::asio::disable_cancellation());
  }
  std::shared_ptr<Shared> shared_;
};

/// A client and its scripted server on one loop.
struct ClientAndServer {
  ClientAndServer(Wire wire,
                  FakeHttpServer::Script script,
                  const net::HttpClient::Limits& limits = {})
      : ClientAndServer{
            server_tls(wire), trusting(client_test_ca().pem()), std::move(script), limits} {}
  ClientAndServer(std::optional<FakeHttpServer::Tls> tls,
                  std::shared_ptr<net::TlsContext> trust,
                  FakeHttpServer::Script script,
                  const net::HttpClient::Limits& limits = {})
      : server{io.get_executor(), std::move(script), std::move(tls)},
        client{std::make_unique<net::HttpClient>(
            io.get_executor(), server.endpoint(), std::move(trust), limits)} {}

  Result<net::ClientResponse> get(const std::string& target = "/") {
    return run(io, client->request(to(target)));
  }
  Result<std::unique_ptr<net::HttpStream>> open(const std::string& target = "/") {
    return run(io, client->open(to(target)));
  }
  Result<std::string> read(net::HttpStream& stream,
                           std::chrono::milliseconds silence = std::chrono::seconds{10}) {
    return run(io, stream.read(silence));
  }
  static net::ClientRequest to(const std::string& target) {
    net::ClientRequest out;
    out.target = target;
    return out;
  }

  boost::asio::io_context io;
  FakeHttpServer server;
  std::unique_ptr<net::HttpClient> client;
};

inline FakeHttpServer::Script saying(std::string body) {
  return FakeHttpServer::answering([body](const FakeRequest&) { return FakeAnswer{200, body}; });
}

}  // namespace koordlet::test
