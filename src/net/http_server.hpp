#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "base/result.hpp"

namespace koordlet::net {

struct HttpRequest {
  /// "GET" or "POST". HEAD arrives as GET: the server answers it without the body.
  std::string method;
  /// Decoded, without the query: printable ASCII, starts with '/', no empty, "." or ".." component,
  /// no '/' at the end but for the root.
  std::string path;
  std::string query;  ///< raw, without '?'; printable ASCII
  std::string host;
  std::string body;
  bool unix_socket = false;  ///< came over the unix socket: the peer is root
  std::string accept;        ///< header fields as they came; empty: none
  std::string if_none_match;
};
struct HttpResponse {
  unsigned status = 200;  ///< 200..599; anything else is answered as 500
  std::string content_type = "application/json";
  std::string body;
  std::string cache_control = "no-store";  ///< answers describe a moment
  std::string headers = {};                ///< more fields: whole lines, each with its CRLF
};

/// HTTP/1.1 on loopback TCP and unix sockets. Bounded: header 8 KiB, body 64 KiB, 10 s a request,
/// 30 s idle, `max_connections` at once (the oldest idle one goes, 503 when none is idle), Host
/// must name the listener (loopback names) on TCP, and so must Origin on POST. Methods GET, HEAD,
/// POST. Faults are answered as application/problem+json. Sessions belong to the server and end
/// before run() returns. One thread.
class HttpServer {
 public:
  /// Runs on the loop: short. An exception is answered as 500 without its text.
  using Handler = std::function<HttpResponse(const HttpRequest&)>;
  /// The same for answers that wait (a query on the storage thread); bounds its own waiting.
  using AsyncHandler = std::function<boost::asio::awaitable<HttpResponse>(HttpRequest)>;
  struct Limits {
    std::size_t max_connections = 64;
    std::size_t max_header = 8 * 1024;
    std::size_t max_body = 64 * 1024;
    /// From the first byte of a request to its last; and for the answer, which gets one more second
    /// each 128 KiB.
    std::chrono::milliseconds request_timeout{10'000};
    std::chrono::milliseconds idle_timeout{30'000};
  };
  HttpServer(boost::asio::any_io_executor ex, Handler handler, Limits limits);
  HttpServer(boost::asio::any_io_executor ex, AsyncHandler handler, Limits limits);
  ~HttpServer();
  /// "127.0.0.1:6060", "[::1]:0", "localhost:6060". kDenied for an address that is not loopback,
  /// kBusy when in use, kParse otherwise.
  Result<void> listen_tcp(const std::string& address);
  /// Mode 0600, parent folders made 0700 if missing; a stale socket file is replaced, a live one is
  /// kBusy; another kind of file is kInvalid and stays; a path over 107 bytes is kRange.
  Result<void> listen_unix(const std::string& path);
  /// Of the first TCP listener, with the real port; empty if none.
  std::string tcp_address() const;
  /// Until cancelled; then ends the sessions, closes the listeners and removes the socket file. The
  /// caller's cancellation state is reset on return, so that it may await its own cleanup. Once.
  boost::asio::awaitable<void> run();
  std::uint64_t requests() const;  ///< answered, refusals included
  std::size_t connections() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Blocking client for the command line: one request over a unix socket, at most 64 MiB of answer.
/// kNotFound: nothing listens there; kDenied: no right to connect; kBusy: no whole answer within
/// `timeout`; kParse: the answer is not HTTP; kInvalid: method or target not fit for a request
/// line.
Result<HttpResponse> unix_request(const std::string& socket,
                                  const std::string& method,
                                  const std::string& target,
                                  std::chrono::milliseconds timeout);

}  // namespace koordlet::net
