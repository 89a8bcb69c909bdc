#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/local/stream_protocol.hpp>

#include "base/result.hpp"
#include "net/http2_stream.hpp"

struct nghttp2_session;

namespace koordlet::net {

/// Bytes that a peer may send ahead on one stream, and that wait on it at most. A unix socket needs
/// no more to be kept busy. The connection's window is opened as bytes come, so that a stream whose
/// reader is slow holds up no other.
inline constexpr std::size_t kHttp2Window = 64 * 1024;
/// Bytes that may be put on one stream ahead of the peer.
inline constexpr std::size_t kHttp2Room = 32 * 1024;
/// Names and values of one header block; more resets the stream. nghttp2 takes at most 8
/// CONTINUATION frames of 16 KiB, and gRPC's own limits are far below.
inline constexpr std::size_t kHttp2HeaderBytes = 256 * 1024;

/// One HTTP/2 connection without TLS, of either side, whose streams are passed on as they come.
/// Header fields are not judged beyond HTTP/2's own framing: runtimes and kubelets of all ages put
/// into :authority what the standard does not allow. Held by its reads and writes. Loop thread.
class Http2Link : public std::enable_shared_from_this<Http2Link> {
 public:
  using Socket = boost::asio::local::stream_protocol::socket;
  /// A request's head has come; the stream lives until it is over, or as long as it is held.
  using OnStream = std::function<void(const std::shared_ptr<Http2Stream>&)>;
  struct Options {
    std::string name;               ///< for errors
    std::uint32_t max_streams = 0;  ///< of the peer; more are refused
    OnStream on_stream = {};        ///< set: server side
    std::function<void()> on_close = {};
  };
  Http2Link(Socket socket, Options options);
  ~Http2Link();
  Http2Link(const Http2Link&) = delete;
  Http2Link& operator=(const Http2Link&) = delete;

  Result<void> start();
  /// Client side: a new request; `end`: without a body. kBusy: no more stream ids (make a new
  /// connection). Past the peer's limit of streams, it waits its turn.
  Result<std::shared_ptr<Http2Stream>> open(const Http2Headers& head, bool end);
  bool is_usable() const { return !closed_ && !draining_; }
  bool is_open() const { return !closed_; }
  std::size_t streams() const { return streams_.size(); }
  std::size_t waiting_bytes() const;  ///< of all streams, both ways
  /// GOAWAY: no new streams; closes when the last one is over.
  void drain();
  void close();  ///< every stream is lost

 private:
  friend class Http2Stream;
  struct Callbacks;  ///< nghttp2's, in http2_link_session.cpp
  using StreamPtr = std::shared_ptr<Http2Stream>;

  // http2_link_session.cpp
  Result<void> make_session();
  bool receive(const char* data, std::size_t size);
  bool fill_outbox();
  bool is_done() const;
  void respond(Http2Stream& stream, const Http2Headers& head, bool end);
  void resume(const Http2Stream& stream);
  void consumed(const Http2Stream& stream, std::size_t size);
  void reset(Http2Stream& stream, std::uint32_t code);

  void read();
  void write();
  void flush();  ///< soon: what is said in one turn of the loop goes out in one write
  void note(const StreamPtr& stream);
  void settle();  ///< tells the watchers
  void tell(Http2Stream& stream);
  void end(Http2Stream& stream);

  Socket socket_;
  Options options_;
  nghttp2_session* session_ = nullptr;
  std::map<std::int32_t, StreamPtr> streams_;  ///< that are not over
  std::vector<StreamPtr> changed_, begun_;
  std::vector<char> inbox_;
  std::string outbox_;
  bool writing_ = false, posted_ = false;
  bool busy_ = false;  ///< in nghttp2, or about to write
  bool draining_ = false, closed_ = false;
};

}  // namespace koordlet::net
