#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "net/grpc_upstream.hpp"
#include "net/http2_stream.hpp"

namespace koordlet::net {

/// How a call went that a GrpcEditor was asked about.
struct GrpcEnd {
  std::uint64_t number = 0;
  std::string_view path;
  std::string_view message;  ///< the caller's own
  bool in_time = false;      ///< what edit() said was used
  std::optional<std::string_view>
      answer{};  ///< the server's; nullopt: status other than OK, or none
};

/// Looks into unary calls on their way. Outlives the GrpcForward and what it started.
class GrpcEditor {
 public:
  virtual ~GrpcEditor() = default;
  /// Whether edit() is to be asked about a call to `path`.
  virtual bool wants(std::string_view path) const = 0;
  /// The message to send in the place of `message`; nullopt: `message`, byte for byte. An error
  /// refuses the call: the caller gets its words with INTERNAL, the server nothing. Cancelled, and
  /// its answer ignored, after Options::edit_timeout; an exception counts as nullopt. `call` is a
  /// number of this call alone, from 1.
  using Edit = Result<std::optional<std::string>>;
  virtual boost::asio::awaitable<Edit> edit(std::uint64_t call,
                                            std::string path,
                                            std::string message) = 0;
  /// Once for each call that edit() was asked about, when it is over; for one that the server
  /// carried out before the caller hears of it.
  virtual void ended(const GrpcEnd& call) = 0;
};

/// Passes calls of any service and kind on to one server: metadata, messages, trailers and resets
/// as they are, in both directions and under flow control; nothing is held but what the two windows
/// allow. What it says itself: UNAVAILABLE at once when the server is not there, or is lost before
/// the call ended; DEADLINE_EXCEEDED when the time of grpc-timeout has passed. A call is never sent
/// twice; a server's REFUSED_STREAM, and a GOAWAY that does not count a call, reach the caller as
/// REFUSED_STREAM, and it may repeat. Loop thread.
class GrpcForward {
 public:
  struct Options {
    std::chrono::milliseconds edit_timeout{200};
    /// Longer messages go on unedited, while they come.
    std::size_t max_edited = 16u << 20;
    /// Of all messages that wait for their end or for edit(); past it, calls go on unedited.
    std::size_t max_held = 64u << 20;
  };
  struct Counters {  ///< since the start
    std::uint64_t calls = 0;
    std::uint64_t unavailable = 0;  ///< answered by the proxy itself
    std::uint64_t late = 0;         ///< grpc-timeout passed
    std::uint64_t edited = 0;       ///< sent with another message
    std::uint64_t refused = 0;      ///< by the editor
    std::uint64_t unedited = 0;     ///< wanted, but too large, late, failed or not unary
  };
  /// `upstream` and `editor` (nullptr: none) outlive it.
  GrpcForward(boost::asio::any_io_executor ex,
              GrpcUpstream& upstream,
              GrpcEditor* editor,
              Options options);
  /// Calls that run are cut off on both sides.
  ~GrpcForward();
  GrpcForward(const GrpcForward&) = delete;
  GrpcForward& operator=(const GrpcForward&) = delete;

  void take(const std::shared_ptr<Http2Stream>& stream);  ///< for Http2Server
  /// Ends server streams that never end by themselves (GetContainerEvents) with UNAVAILABLE.
  void end_watches();
  const Counters& counters() const;
  std::size_t held() const;  ///< bytes of messages that wait for edit()

  struct State;  ///< what calls share

 private:
  std::shared_ptr<State> state_;
};

}  // namespace koordlet::net
