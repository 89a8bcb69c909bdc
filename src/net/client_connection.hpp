#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/result.hpp"
#include "net/http_client.hpp"
#include "net/transport.hpp"

namespace koordlet::net {

/// Until when an operation may take, and how its end is told: "no answer within 10000 ms".
struct Deadline {
  std::chrono::steady_clock::time_point at;
  std::string_view missing;         ///< "answer"; static text
  std::chrono::milliseconds limit;  ///< what `at` was made from, for the message

  static Deadline in(std::chrono::milliseconds limit, std::string_view missing) {
    return {std::chrono::steady_clock::now() + limit, missing, limit};
  }
};

/// One connection from its first address to its end; never used for a second one. Whoever awaits a
/// member keeps a shared_ptr to it. One operation at a time.
///
/// Errors of the coroutines: kBusy late; kIo refused, lost, cancelled (of the calling coroutine),
/// closed by close(). They name the peer, and they never throw for a cancellation provided that the
/// caller has switched that off (this_coro::throw_if_cancelled(false)).
class ClientConnection : public std::enable_shared_from_this<ClientConnection> {
 public:
  static constexpr std::size_t kBufferBytes = 64 * 1024;

  ClientConnection(boost::asio::any_io_executor ex, HttpEndpoint endpoint);
  ~ClientConnection();
  ClientConnection(const ClientConnection&) = delete;
  ClientConnection& operator=(const ClientConnection&) = delete;

  /// Resolves, tries every address in turn (each gets its share of the time), and does the TLS
  /// handshake. kNotFound: no such name. `tls` nullptr: plain.
  boost::asio::awaitable<Result<void>> connect(std::shared_ptr<TlsContext> tls,
                                               std::chrono::milliseconds limit,
                                               std::chrono::milliseconds dead_peer);
  boost::asio::awaitable<Result<void>> send(std::string_view bytes, Deadline deadline);
  /// Adds what has come to unread(), and always lets the loop run before it returns. False: the
  /// peer has ended its side in order.
  boost::asio::awaitable<Result<bool>> fill(Deadline deadline);

  std::string& unread() { return unread_; }
  /// The peer went away, in order or not; what the last error says was its doing.
  bool lost() const { return lost_; }
  const std::string& peer() const { return peer_; }

  /// For a connection that waits for its next request: `on_end` is called, once and never from
  /// here, when `limit` is over or the peer closes. It holds no reference to the connection.
  void start_idle(std::chrono::milliseconds limit, std::function<void()> on_end);
  /// Ends the wait. False: not fit for another request (the peer has closed, or has said something
  /// that nobody asked for).
  bool end_idle();

  /// At once, never waiting for the peer; operations in progress end with kIo.
  void close();

 private:
  using Socket = boost::asio::ip::tcp::socket;
  struct Lookup;

  boost::asio::awaitable<Result<std::vector<boost::asio::ip::address>>> resolve(Deadline deadline);
  boost::asio::awaitable<Result<void>> connect_one(boost::asio::ip::tcp::endpoint at,
                                                   Deadline deadline,
                                                   std::chrono::milliseconds dead_peer);
  boost::asio::awaitable<Result<void>> handshake(std::shared_ptr<TlsContext> tls,
                                                 Deadline deadline);
  boost::asio::awaitable<Result<void>> wait_for(Transport::Step step, Deadline deadline);
  boost::asio::awaitable<std::optional<Error>> stopped(Deadline deadline) const;

  void arm(std::chrono::steady_clock::time_point at);
  void disarm();
  void watch_idle();
  void finish_idle();
  bool is_quiet();
  Error late(const Deadline& deadline) const;
  Error broken(const std::string& why);

  HttpEndpoint endpoint_;
  std::string peer_;
  Socket socket_;
  boost::asio::steady_timer timer_;
  std::uint64_t armed_ = 0;  ///< tells a timer that was moved while its handler was in the queue
  std::unique_ptr<Transport> transport_;
  std::string unread_;
  std::function<void()> on_idle_end_;  ///< set while idle
  std::uint64_t idle_ = 0;             ///< the same for the watch on an idle socket
  bool timed_out_ = false;
  bool closed_ = false;
  bool lost_ = false;
};

}  // namespace koordlet::net
