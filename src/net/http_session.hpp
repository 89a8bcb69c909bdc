#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/clock.hpp"
#include "net/http_server.hpp"

namespace koordlet::net {

class HttpSession;

/// What the sessions of one server share; kept alive by each of them.
struct SessionContext {
  HttpServer::Handler handler;
  HttpServer::AsyncHandler async_handler;  ///< one of the two is set
  HttpServer::Limits limits;
  std::uint64_t requests = 0;
  std::set<HttpSession*> open;  ///< counted against max_connections
  std::size_t refusing = 0;     ///< sessions that only say 503

  /// Closes the one that has been idle longest; false when none is idle.
  bool evict_oldest_idle();
};

/// One connection: reads requests one after another, each with a fresh parser, and answers them in
/// order. Ends on a cancel, on a fault, when idle too long, and after "Connection: close".
class HttpSession : public std::enable_shared_from_this<HttpSession> {
 public:
  using Socket = boost::asio::generic::stream_protocol::socket;
  enum class Kind { kServe, kRefuse };  ///< kRefuse: answer 503 and close

  HttpSession(std::shared_ptr<SessionContext> context, Socket socket, bool unix_peer, Kind kind);
  ~HttpSession();
  HttpSession(const HttpSession&) = delete;
  HttpSession& operator=(const HttpSession&) = delete;

  /// Keeps the session alive until it ends.
  static boost::asio::awaitable<void> run(std::shared_ptr<HttpSession> self);
  bool idle() const { return idle_; }
  MonoTime idle_since() const { return idle_since_; }
  void evict();  ///< closes at once and no longer counts

 private:
  struct Reader;
  struct Reply {
    HttpResponse response;
    bool keep_alive = false;
    bool with_body = true;
    std::string_view extra;  ///< header lines, static text
  };
  boost::asio::awaitable<bool> serve_one();
  boost::asio::awaitable<bool> read_request(Reader& reader);
  boost::asio::awaitable<HttpResponse> ask_handler(HttpRequest request);
  boost::asio::awaitable<bool> write_reply(Reply reply);
  boost::asio::awaitable<std::size_t> fill(std::size_t at_most);
  boost::asio::awaitable<void> linger();

  void set_idle(bool idle);
  void arm(std::chrono::milliseconds limit);
  void on_deadline();
  void leave();

  std::shared_ptr<SessionContext> context_;
  Socket socket_;
  boost::asio::steady_timer deadline_;
  std::string unread_;  ///< received and not parsed yet
  bool unix_peer_;
  Kind kind_;
  bool idle_ = false;
  bool timed_out_ = false;
  MonoTime idle_since_;
};

}  // namespace koordlet::net
