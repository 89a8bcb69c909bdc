#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "base/result.hpp"
#include "net/http2_link.hpp"

namespace koordlet::net {

/// HTTP/2 without TLS on a unix socket, for peers that speak it from the first byte (gRPC). Loop
/// thread.
class Http2Server {
 public:
  struct Options {
    std::size_t max_connections = 64;    ///< more are closed at once
    std::uint32_t max_streams = 2'000;   ///< at once, of one connection; more are refused
    std::chrono::milliseconds grace{0};  ///< at the end, for the streams that run
  };
  /// `on_stream` runs on the loop and must not throw.
  Http2Server(boost::asio::any_io_executor ex, Options options, Http2Link::OnStream on_stream);
  /// Connections that are open close.
  ~Http2Server();
  Http2Server(const Http2Server&) = delete;
  Http2Server& operator=(const Http2Server&) = delete;

  /// Mode 0600; errors as HttpServer::listen_unix.
  Result<void> listen_unix(const std::string& path);
  /// Until cancelled; then closes the listener and removes its file, says GOAWAY, waits until all
  /// streams are over or the grace is, and closes. The caller's cancellation state is reset. Once.
  boost::asio::awaitable<void> run();

  std::size_t connections() const;
  std::size_t streams() const;        ///< that are not over, of all connections
  std::size_t waiting_bytes() const;  ///< that they hold

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace koordlet::net
