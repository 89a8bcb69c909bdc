#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
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
  std::string path = {};  ///< ":path"
  Http2Headers headers = {};
  std::string body = {};
  std::optional<std::chrono::milliseconds> timeout = {};  ///< nullopt: the client's
  /// So many bytes at the start of the answer's body are kept apart from the rest of it.
  std::size_t prefix = 0;
  /// Size of the rest, by the prefix; 0: unknown. Memory for it is set aside at once (never more
  /// than max_body): a body that moves each time it outgrows its place holds the loop for longer
  /// and longer.
  std::size_t (*size_after)(std::string_view prefix) = nullptr;
};

/// The whole answer, its trailers included.
struct Http2Answer {
  unsigned status = 0;
  Http2Headers headers;
  Http2Headers trailers;
  std::string prefix;  ///< of the body, as asked for; shorter when there was no more
  std::string body;    ///< what comes after it
};
/// nullptr: no such header. Names are in lower case on the wire.
const std::string* find_header(const Http2Headers& headers, std::string_view name);

/// POST over HTTP/2 without TLS to a unix socket, by nghttp2. One connection, made with the first
/// call and anew after it broke, the peer said GOAWAY, or a call's time passed with a peer that
/// took no request or never said a byte; calls overlap on it. Loop thread.
class Http2Client {
 public:
  struct Options {
    std::string socket;  ///< absolute path, at most 107 bytes
    std::chrono::milliseconds timeout{2'000};
    std::size_t max_body = 16u << 20;  ///< of an answer
  };
  Http2Client(boost::asio::any_io_executor ex, Options options);
  /// Calls that run end with kIo; they need nothing of the client any more.
  ~Http2Client();
  Http2Client(const Http2Client&) = delete;
  Http2Client& operator=(const Http2Client&) = delete;

  /// kNotFound: no socket; kDenied; kBusy: nobody listens, the peer closed or reset the stream, or
  /// no answer in time (the stream is reset); kRange: a body above max_body, or more than 64 KiB of
  /// headers (the stream is reset, the connection stays); kParse: the peer broke HTTP/2; kIo:
  /// "cancelled", after a cancel of the calling coroutine (the stream is reset). A call that meets
  /// a dead connection, or is refused unprocessed, before anything of its answer came is sent once
  /// more, on a new connection where need be.
  boost::asio::awaitable<Result<Http2Answer>> post(Http2Request request);
  std::uint64_t connections() const;  ///< made so far

 private:
  struct State;
  static boost::asio::awaitable<Result<Http2Answer>> exchange(std::shared_ptr<State> state,
                                                              Http2Request request);
  std::shared_ptr<State> state_;  ///< calls that run hold it too
};

}  // namespace koordlet::net
