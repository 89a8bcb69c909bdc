#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "base/result.hpp"

namespace koordlet::net {

struct HttpRequest {
  std::string method;  ///< "GET"
  std::string path;    ///< decoded, without the query; always starts with '/', no ".." component
  std::string query;   ///< raw, without '?'
  std::string host;
  std::string body;
  bool unix_socket = false;  ///< came over the unix socket: the peer is root
};
struct HttpResponse {
  unsigned status = 200;
  std::string content_type = "application/json";
  std::string body;
};

/// HTTP/1.1 on loopback TCP and unix sockets. Bounded: header 8 KiB, body 64 KiB, 10 s a request,
/// 30 s idle, `max_connections` at once (the oldest idle one goes), Host must name the listener
/// (loopback names) on TCP. Faults are answered as application/problem+json. Sessions belong to the
/// server and end before run() returns.
class HttpServer {
 public:
  using Handler = std::function<HttpResponse(const HttpRequest&)>;
  struct Limits {
    std::size_t max_connections = 64;
    std::size_t max_header = 8 * 1024;
    std::size_t max_body = 64 * 1024;
    std::chrono::seconds request_timeout{10};
    std::chrono::seconds idle_timeout{30};
  };
  HttpServer(boost::asio::any_io_executor ex, Handler handler, Limits limits);
  ~HttpServer();
  /// "127.0.0.1:6060", "[::1]:0". kDenied for an address that is not loopback, kBusy when in use,
  /// kParse otherwise.
  Result<void> listen_tcp(const std::string& address);
  /// Mode 0600, parent folder made 0700 if missing; a stale socket file is replaced, a live one is
  /// kBusy.
  Result<void> listen_unix(const std::string& path);
  std::string tcp_address()
      const;  ///< of the first TCP listener, with the real port; empty if none
  boost::asio::awaitable<void> run();  ///< until cancelled; removes its socket file
  std::uint64_t requests() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Blocking client for the command line: one request over a unix socket. kNotFound: nothing listens
/// there.
Result<HttpResponse> unix_request(const std::string& socket,
                                  const std::string& method,
                                  const std::string& target,
                                  std::chrono::seconds timeout);

}  // namespace koordlet::net
