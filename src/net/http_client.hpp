#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "net/tls_context.hpp"

namespace koordlet::net {

/// Where an HTTP server listens.
struct HttpEndpoint {
  bool tls = true;
  std::string host;  ///< DNS name, or an address without brackets
  std::uint16_t port = 443;
  std::string server_name;  ///< name the certificate must carry (SNI too); empty: host
};

struct ClientRequest {
  std::string method = "GET";
  std::string target;  ///< path and query, already escaped
  /// Not Host, Connection, Content-Length or Transfer-Encoding: the client sets them itself.
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
};

/// Head of an answer.
struct ResponseHead {
  unsigned status = 0;
  std::string content_type;
  std::optional<std::chrono::seconds> retry_after;  ///< Retry-After in seconds or as a date
  std::optional<WallTime> date;                     ///< Date: the server's clock
};

struct ClientResponse {
  ResponseHead head;
  std::string body;
};

/// The body of one answer, piece by piece, without a bound on the whole of it (a watch is endless).
/// Destroying it closes the connection, unless the body was read to its end: then the connection
/// goes back to the client. One reader; must not outlive its client's executor.
class HttpStream {
 public:
  virtual ~HttpStream() = default;
  virtual const ResponseHead& head() const = 0;
  /// The next bytes (at most 64 KiB, content decoded from chunks); empty: the end. kBusy: nothing
  /// came for `silence`. kIo: the connection broke; kParse: not HTTP. After an error the stream is
  /// dead.
  virtual boost::asio::awaitable<Result<std::string>> read(std::chrono::milliseconds silence) = 0;
};

/// HTTP/1.1 client for one server: keep-alive, no proxy, no redirects. Every message has a fresh
/// parser, every connection a stream of its own that lives until its last operation is done. One
/// thread; requests may run side by side, each on its own connection.
///
/// Errors: kIo connect, TLS ("certificate ...: why" for a verification failure), broken or
/// truncated answer; kBusy a time-out, naming which; kParse what came is not HTTP; kRange the
/// answer is larger than the bound; kNotFound the name does not resolve; kInvalid a request that
/// must not be sent (CR or LF in a part of it). The context names host and port, never the value of
/// a header. A request on a kept connection that turns out closed before any byte of
/// the answer is sent again once on a new one.
class HttpClient {
 public:
  struct Limits {
    std::chrono::milliseconds connect_timeout{5'000};   ///< resolve, connect and TLS handshake
    std::chrono::milliseconds request_timeout{10'000};  ///< from send to the end of the answer
    std::chrono::milliseconds head_timeout{10'000};     ///< of open(): from send to the head
    std::chrono::milliseconds keep_idle{30'000};        ///< a kept connection is closed after that
    std::chrono::milliseconds dead_peer{30'000};        ///< TCP_USER_TIMEOUT and keepalive
    std::size_t max_head = 64 * 1024;
    std::size_t max_body = 32u << 20;  ///< of request(); open() has no bound
    std::size_t max_kept = 4;          ///< idle connections kept for reuse
  };
  struct Stats {
    std::uint64_t connects = 0, requests = 0, reused = 0, failures = 0;
    std::size_t open = 0;  ///< connections in use
    std::size_t kept = 0;  ///< idle
  };

  /// `tls` nullptr only when endpoint.tls is false.
  HttpClient(boost::asio::any_io_executor ex,
             HttpEndpoint endpoint,
             std::shared_ptr<TlsContext> tls,
             Limits limits);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// A whole answer. Ends with kIo ("cancelled") when the calling coroutine is cancelled.
  boost::asio::awaitable<Result<ClientResponse>> request(ClientRequest request);
  /// The head of an answer, and its body to be read.
  boost::asio::awaitable<Result<std::unique_ptr<HttpStream>>> open(ClientRequest request);
  /// For connections from now on; kept ones are closed (rotated CA or client certificate).
  void set_tls(std::shared_ptr<TlsContext> tls);
  void close_kept();
  const HttpEndpoint& endpoint() const;
  Stats stats() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace koordlet::net
