#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

#include "base/result.hpp"
#include "net/http2_link.hpp"

namespace koordlet::net {

/// The server that calls are forwarded to: one connection, made with the first call and anew after
/// it broke or the server said GOAWAY (calls that run on the old one go on there). Loop thread.
class GrpcUpstream {
 public:
  GrpcUpstream(boost::asio::any_io_executor ex, std::string socket);
  ~GrpcUpstream();
  GrpcUpstream(const GrpcUpstream&) = delete;
  GrpcUpstream& operator=(const GrpcUpstream&) = delete;

  /// At once or not at all. kNotFound: no socket; kDenied; kBusy: nobody listens.
  Result<std::shared_ptr<Http2Stream>> open(const Http2Headers& head, bool end);
  /// Called behind each connection that was made, the first one too: another process may be there
  /// now.
  void on_connection(std::function<void()> call) { on_connection_ = std::move(call); }
  std::uint64_t connections() const { return connections_; }  ///< made so far
  std::size_t streams() const;
  const std::string& socket() const { return socket_; }
  void drain();  ///< no further calls

 private:
  Result<std::shared_ptr<Http2Link>> usable();

  boost::asio::any_io_executor ex_;
  std::string socket_;
  std::function<void()> on_connection_;
  std::shared_ptr<Http2Link> current_;
  std::vector<std::weak_ptr<Http2Link>> all_;  ///< those that drain too
  std::uint64_t connections_ = 0;
};

}  // namespace koordlet::net
