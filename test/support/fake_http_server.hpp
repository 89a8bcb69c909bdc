#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "net/http_client.hpp"
#include "support/test_certs.hpp"

namespace koordlet::test {

using FakeHeaders = std::vector<std::pair<std::string, std::string>>;

struct FakeRequest {
  std::string method, target, body;
  FakeHeaders headers;
  int connection = 0;          ///< 1 for the first one accepted
  std::string client_subject;  ///< common name of the client's certificate; "" when none was shown
  /// First header of that name, in any case; "" when absent.
  std::string header(std::string_view name) const;
};

struct FakeAnswer {
  unsigned status = 200;
  std::string body = {};
  std::string content_type = "application/json";
  FakeHeaders headers = {};
};

/// What a script may do with the connection that a request came on. Writes return false once the
/// connection is gone; nothing throws. A script that returns without having written or closed
/// anything closes the connection; one that has answered leaves it open for the next request. GCC
/// 12 breaks a braced FakeAnswer inside a co_await expression: give it a name first.
class FakeConnection {
 public:
  virtual ~FakeConnection() = default;
  virtual const FakeRequest& request() const = 0;

  /// With Content-Length; the body is left out for HEAD, 204 and 304.
  virtual boost::asio::awaitable<bool> answer(FakeAnswer answer) = 0;
  /// The head of a chunked answer (body is ignored), then its pieces, then its end.
  virtual boost::asio::awaitable<bool> start_chunks(FakeAnswer head) = 0;
  boost::asio::awaitable<bool> start_chunks() { return start_chunks(FakeAnswer{}); }
  virtual boost::asio::awaitable<bool> write_chunk(std::string piece) = 0;
  virtual boost::asio::awaitable<bool> end_chunks() = 0;
  virtual boost::asio::awaitable<bool> write_raw(std::string bytes) = 0;

  virtual boost::asio::awaitable<void> wait(std::chrono::milliseconds time) = 0;
  /// Says nothing until the client goes away or the connection is dropped.
  virtual boost::asio::awaitable<void> silence() = 0;

  virtual boost::asio::awaitable<void> close() = 0;  ///< in order: TLS close_notify, then FIN
  virtual void truncate() = 0;                       ///< FIN without close_notify
  virtual void reset() = 0;                          ///< RST
};

/// A scriptable HTTP/1.1 server for tests on 127.0.0.1, plain or TLS, on the caller's loop. Once
/// destroyed it no longer calls the script; what it has open ends when the loop runs again or dies.
class FakeHttpServer {
 public:
  using Script = std::function<boost::asio::awaitable<void>(FakeConnection&)>;
  using Answer = std::function<FakeAnswer(const FakeRequest&)>;
  struct Tls {
    CertAndKey server;
    std::string client_ca_pem = {};  ///< set: only clients with a certificate of this CA get in
  };

  /// Listens at once, on a port of the kernel's choice.
  FakeHttpServer(boost::asio::any_io_executor ex, Script script, std::optional<Tls> tls = {});
  ~FakeHttpServer();
  FakeHttpServer(const FakeHttpServer&) = delete;
  FakeHttpServer& operator=(const FakeHttpServer&) = delete;

  static Script answering(Answer answer);  ///< a script of one answer a request
  void set_script(Script script);          ///< for requests from now on
  void set_tls(Tls tls);                   ///< for connections from now on
  /// Connections from now on are accepted and then left alone: no handshake, no byte.
  void set_mute(bool mute);

  std::uint16_t port() const;
  net::HttpEndpoint endpoint() const;

  void stop_listening();    ///< new connections are refused; open ones go on
  void listen_again();      ///< on the same port
  void drop_connections();  ///< RST to all

  const std::vector<FakeRequest>& requests() const;  ///< in the order of their arrival
  int accepted() const;                              ///< connections so far
  std::size_t connections() const;                   ///< open now

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace koordlet::test
