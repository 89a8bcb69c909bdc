#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>

#include "net/http2_client.hpp"

struct nghttp2_session;

namespace koordlet::net {

/// One HTTP/2 connection of the client side, held by its reads, its writes and its calls. It closes
/// itself when the peer goes, and when it takes no new calls and the last one is done.
class Http2Connection : public std::enable_shared_from_this<Http2Connection> {
 public:
  Http2Connection(boost::asio::local::stream_protocol::socket socket,
                  std::string name,
                  std::size_t max_body);
  ~Http2Connection();
  Http2Connection(const Http2Connection&) = delete;
  Http2Connection& operator=(const Http2Connection&) = delete;

  Result<void> start();
  bool is_usable() const { return !failure_ && !complaint_ && !draining_; }
  void close(Error why);  ///< ends every call with `why`

  struct Outcome {
    Result<Http2Answer> answer;
    bool may_repeat = false;  ///< nothing of an answer came: the connection died, or a refusal
  };
  /// `request` must live until the end of the call.
  boost::asio::awaitable<Outcome> post(const Http2Request& request,
                                       std::chrono::steady_clock::time_point deadline);

 private:
  struct Stream {
    Stream(const boost::asio::any_io_executor& ex, const Http2Request& request)
        : wake{ex, boost::asio::steady_timer::time_point::max()},
          body{request.body},
          prefix{request.prefix},
          size_after{request.size_after} {}
    boost::asio::steady_timer wake;  ///< cancelled when the stream is over
    std::string body;                ///< of the request
    std::size_t sent = 0;            ///< bytes of it
    std::size_t prefix;              ///< as in the request
    std::size_t (*size_after)(std::string_view);
    Http2Answer answer;
    std::size_t header_bytes = 0;  ///< of all header blocks
    bool left = false;             ///< the request's headers went out
    bool touched = false;          ///< anything of an answer came back
    bool answered = false;         ///< the final header block is here: more headers are trailers
    bool ended = false;            ///< the answer is whole
    bool lost = false;             ///< by the connection's end, or refused unprocessed
    bool over = false;
    std::optional<Error> failure;
  };
  struct Callbacks;  ///< nghttp2's, in http2_session.cpp

  // http2_session.cpp: what nghttp2 is told and says.
  Result<void> make_session();
  Result<std::int32_t> submit(const Http2Request& request, Stream& stream);
  void reset(std::int32_t id);
  Result<void> receive(const char* data, std::size_t size);
  void keep(std::string_view data, Stream& stream) const;  ///< a part of an answer's body
  Result<void> fill_outbox();
  bool is_done() const;  ///< neither side has anything to say

  void read();
  void write();
  void finish(Stream& stream);
  void close_when_drained();

  boost::asio::local::stream_protocol::socket socket_;
  std::string name_;
  std::size_t max_body_;
  nghttp2_session* session_ = nullptr;
  std::map<std::int32_t, std::shared_ptr<Stream>> streams_;  ///< until nghttp2 closed them
  std::size_t calls_ = 0;                                    ///< coroutines in post()
  std::vector<char> inbox_;
  std::string outbox_;
  bool writing_ = false;
  bool heard_ = false;              ///< anything from the peer
  bool draining_ = false;           ///< no new calls
  std::optional<Error> complaint_;  ///< the peer broke the protocol; the GOAWAY is on its way
  std::optional<Error> failure_;    ///< closed
};

}  // namespace koordlet::net
