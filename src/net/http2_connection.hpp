#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>

#include "net/http2_client.hpp"

struct nghttp2_session;

namespace koordlet::net {

/// One HTTP/2 connection of the client side. Its reads and writes hold it; close() ends both.
class Http2Connection : public std::enable_shared_from_this<Http2Connection> {
 public:
  Http2Connection(boost::asio::local::stream_protocol::socket socket,
                  std::string name,
                  std::size_t max_body);
  ~Http2Connection();
  Http2Connection(const Http2Connection&) = delete;
  Http2Connection& operator=(const Http2Connection&) = delete;

  Result<void> start();
  bool is_usable() const { return !failure_ && !draining_; }
  void close(Error why);

  struct Outcome {
    Result<Http2Answer> answer;
    bool may_repeat = false;  ///< failed before the peer answered anything, by the connection's end
  };
  boost::asio::awaitable<Outcome> post(const Http2Request& request,
                                       std::chrono::steady_clock::time_point deadline);

 private:
  struct Stream {
    explicit Stream(const boost::asio::any_io_executor& ex, std::string b)
        : wake{ex, boost::asio::steady_timer::time_point::max()}, body{std::move(b)} {}
    boost::asio::steady_timer wake;  ///< cancelled when the stream is over
    std::string body;                ///< of the request
    std::size_t sent = 0;
    Http2Answer answer;
    bool answered = false;  ///< the final header block is here: more headers are trailers
    bool touched = false;   ///< anything came back
    bool over = false;
    std::optional<Error> failure;
  };
  struct Callbacks;  ///< nghttp2's, in the .cpp

  void read();
  void write();
  Result<void> receive(const char* data, std::size_t size);
  void finish(Stream& stream, std::optional<Error> failure);

  boost::asio::local::stream_protocol::socket socket_;
  std::string name_;
  std::size_t max_body_;
  nghttp2_session* session_ = nullptr;
  std::map<std::int32_t, std::shared_ptr<Stream>> streams_;
  std::vector<char> inbox_;
  std::string outbox_;
  bool writing_ = false;
  bool draining_ = false;  ///< GOAWAY came: no new calls
  std::optional<Error> failure_;
};

}  // namespace koordlet::net
