#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

namespace koordlet::test {

using GrpcHeaders = std::vector<std::pair<std::string, std::string>>;

/// The 5 bytes that gRPC puts before a message, and the message. `length` differs from the
/// message's own only for a broken peer.
std::string grpc_message(std::string_view message, std::optional<std::uint32_t> length = {});

struct GrpcCall {
  std::string path, message;                        ///< the message without its prefix
  GrpcHeaders headers;                              ///< pseudo-headers too
  int connection = 0;                               ///< 1 for the first one accepted
  std::string header(std::string_view name) const;  ///< "" when absent
};

/// What a broken or restarting peer does in the place of a plain answer.
enum class GrpcFault {
  kNone,
  kSilent,        ///< nothing
  kReset,         ///< RST_STREAM INTERNAL_ERROR at once
  kRefuse,        ///< RST_STREAM REFUSED_STREAM at once
  kResetHalfWay,  ///< headers, half of the body, RST_STREAM
  kGoAway,        ///< GOAWAY that still counts this call, then the answer
  kGoAwayBefore,  ///< GOAWAY that does not count this call
  kClose,         ///< the connection ends
  kCloseHalfWay,  ///< headers, half of the body, the connection ends
  kNoTrailers,    ///< the body ends the stream
  kTrailersOnly,  ///< one block of headers with the status
  kRaw,           ///< the body's bytes as they are, on the connection
};

struct GrpcAnswer {
  std::string body = {};               ///< as it goes into DATA frames: see grpc_message()
  std::optional<unsigned> status = 0;  ///< nullopt: no grpc-status
  std::string words = {};              ///< grpc-message, as it goes over the wire
  unsigned http = 200;
  GrpcHeaders headers = {};  ///< further ones of the first block
  bool hints = false;        ///< a block of status 103 before
  bool held = false;         ///< kept back until release()
  GrpcFault fault = GrpcFault::kNone;
};

/// A container runtime for tests: HTTP/2 on a unix socket, on the caller's loop, answering by a
/// script that runs when a whole request has come. Once destroyed it no longer calls the script;
/// what it has open ends when the loop runs again or dies.
class FakeCriServer {
 public:
  using Script = std::function<GrpcAnswer(const GrpcCall&)>;

  FakeCriServer(boost::asio::any_io_executor ex, std::string path, Script script);
  ~FakeCriServer();
  FakeCriServer(const FakeCriServer&) = delete;
  FakeCriServer& operator=(const FakeCriServer&) = delete;

  void set_script(Script script);  ///< for requests from now on
  void release();                  ///< sends the answers that were held
  /// Each byte of the connections from now on is a write of its own.
  void set_split(bool split);
  /// Connections from now on are accepted and then left alone: not a byte is read.
  void set_mute(bool mute);
  void set_max_streams(std::uint32_t count);  ///< SETTINGS of connections from now on
  void close_next(int count);  ///< so many connections from now on end as soon as they are there
  void ping();                 ///< on all connections

  void stop_listening();  ///< connections are refused; open ones go on
  void listen_again();
  void drop_connections();

  const std::vector<GrpcCall>& calls() const;         ///< in the order of their arrival
  int accepted() const;                               ///< connections so far
  std::size_t connections() const;                    ///< open now
  std::size_t streams() const;                        ///< open now, of all connections
  const std::vector<std::uint32_t>& resets() const;   ///< error codes of RST_STREAM from the client
  const std::vector<std::uint32_t>& goaways() const;  ///< and of GOAWAY
  int pongs() const;                                  ///< PINGs it acknowledged

  struct State;  ///< the server's own

 private:
  std::shared_ptr<State> state_;
};

}  // namespace koordlet::test
