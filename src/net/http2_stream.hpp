#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net/http2_client.hpp"

namespace koordlet::net {

class Http2Link;
class Http2Stream;

/// Told whenever a stream changed: something came, there is room again, or it is over. Never called
/// from within a call to the stream. Several changes may be told at once.
class Http2Watcher {
 public:
  virtual ~Http2Watcher() = default;
  virtual void changed(Http2Stream& stream) = 0;
};

/// One stream of a connection, of either side. What came waits here until it is taken, and the peer
/// is allowed to send more only then: at most one window (kHttp2Window) waits. What goes is put
/// here as long as there is room(). Loop thread.
class Http2Stream {
 public:
  explicit Http2Stream(Http2Link& link) : link_{&link} {}
  Http2Stream(const Http2Stream&) = delete;
  Http2Stream& operator=(const Http2Stream&) = delete;

  /// Held until the stream is over, and told at once what has come so far.
  void watch(std::shared_ptr<Http2Watcher> watcher);

  // What came.
  bool has_head() const { return has_head_; }
  const Http2Headers& head() const { return head_; }  ///< with pseudo-headers, in wire order
  std::string_view waiting() const { return std::string_view{in_}.substr(in_at_); }
  void take(std::size_t size);           ///< of waiting(); opens the window again
  bool ended() const { return ended_; }  ///< nothing comes after waiting()
  const Http2Headers& trailers() const { return trailers_; }  ///< whole when ended()
  /// Error code of the RST_STREAM that ended it, either side's; nullopt: none did, or the
  /// connection was lost.
  std::optional<std::uint32_t> reset_code() const { return code_; }
  bool is_over() const { return over_; }  ///< closed in order, reset or lost
  bool is_lost() const { return lost_; }  ///< with its connection

  // What goes. Nothing happens on a stream that is over.
  /// The head of an answer, of a server's stream. `end`: nothing follows.
  void respond(const Http2Headers& head, bool end);
  std::size_t room() const;
  void put(std::string_view bytes);  ///< at most room(), before finish()
  void finish(Http2Headers trailers = {});
  bool is_finished() const { return out_ended_; }
  bool is_sent() const { return sent_end_; }  ///< finish() has reached the socket
  void reset(std::uint32_t code);             ///< RST_STREAM; the watcher is not told any more

 private:
  friend class Http2Link;
  bool is_done() const { return ended_ && sent_end_; }
  static void drop(std::string& bytes, std::size_t& at, std::size_t size);

  Http2Link* link_;  ///< nullptr: over
  std::int32_t id_ = 0;
  std::shared_ptr<Http2Watcher> watcher_ = {};
  bool noted_ = false;  ///< waits to be told
  Http2Headers head_ = {}, trailers_ = {};
  std::size_t header_bytes_ = 0;  ///< of the block that comes
  bool has_head_ = false, ended_ = false, over_ = false, lost_ = false;
  std::optional<std::uint32_t> code_ = {};
  std::string in_ = {}, out_ = {};
  std::size_t in_at_ = 0, out_at_ = 0;
  Http2Headers out_trailers_ = {};
  bool responded_ = false, out_ended_ = false, sent_end_ = false;
};

}  // namespace koordlet::net
