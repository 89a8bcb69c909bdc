#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "base/result.hpp"

namespace koordlet::net {

using Http2Headers = std::vector<std::pair<std::string, std::string>>;

struct Http2Request {
  std::string path;  ///< ":path"
  Http2Headers headers;
  std::string body;
};

/// The whole answer, its trailers included.
struct Http2Answer {
  unsigned status = 0;
  Http2Headers headers;
  Http2Headers trailers;
  std::string body;
};
/// nullptr: no such header. Names are in lower case on the wire.
const std::string* find_header(const Http2Headers& headers, std::string_view name);

/// POST over HTTP/2 without TLS to a unix socket, by nghttp2. One connection, made with the first
/// call and anew after it broke or the peer said GOAWAY; calls overlap on it. Loop thread.
class Http2Client {
 public:
  struct Options {
    std::string socket;  ///< absolute path, at most 107 bytes
    std::chrono::milliseconds timeout{2'000};
    std::size_t max_body = 16u << 20;
  };
  Http2Client(boost::asio::any_io_executor ex, Options options);
  /// Calls that run end with kIo.
  ~Http2Client();
  Http2Client(const Http2Client&) = delete;
  Http2Client& operator=(const Http2Client&) = delete;

  /// kNotFound: no socket; kDenied; kBusy: nobody listens, the peer closed or reset the stream, or
  /// no answer in time (the stream is reset); kRange: a body above max_body; kParse: the peer does
  /// not speak HTTP/2. A call that meets a dead connection before anything of its answer came is
  /// sent once more on a new one.
  boost::asio::awaitable<Result<Http2Answer>> post(Http2Request request);
  std::uint64_t connections() const;  ///< made so far

 private:
  class Connection;
  boost::asio::awaitable<Result<std::shared_ptr<Connection>>> connected(
      std::chrono::steady_clock::time_point deadline);

  boost::asio::any_io_executor ex_;
  Options options_;
  std::shared_ptr<Connection> connection_;
  std::uint64_t connections_ = 0;
};

}  // namespace koordlet::net
