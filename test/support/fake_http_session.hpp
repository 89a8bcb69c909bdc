#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>

#include "support/fake_http_server.hpp"

/// The insides of FakeHttpServer.
namespace koordlet::test {

class FakeSession;

/// What the sessions of one server share; each keeps it alive.
struct FakeSessions {
  std::shared_ptr<const FakeHttpServer::Script> script;  ///< null: the server is gone
  std::shared_ptr<boost::asio::ssl::context> tls;        ///< null: plain
  bool mute = false;
  std::vector<FakeRequest> requests;
  int accepted = 0;
  std::set<FakeSession*> open;
};

class FakeSession final : public FakeConnection {
 public:
  FakeSession(std::shared_ptr<FakeSessions> all, boost::asio::ip::tcp::socket socket);
  ~FakeSession() override;
  static boost::asio::awaitable<void> run(std::shared_ptr<FakeSession> self);

  const FakeRequest& request() const override { return request_; }
  boost::asio::awaitable<bool> answer(FakeAnswer answer) override;
  boost::asio::awaitable<bool> start_chunks(FakeAnswer head) override;
  boost::asio::awaitable<bool> write_chunk(std::string piece) override;
  boost::asio::awaitable<bool> end_chunks() override;
  boost::asio::awaitable<bool> write_raw(std::string bytes) override;
  boost::asio::awaitable<void> wait(std::chrono::milliseconds time) override;
  boost::asio::awaitable<void> silence() override;
  boost::asio::awaitable<void> close() override;
  void truncate() override;
  void reset() override;

 private:
  boost::asio::awaitable<bool> handshake();
  boost::asio::awaitable<bool> fill();
  boost::asio::awaitable<bool> read_request();
  void shut();

  std::shared_ptr<FakeSessions> all_;
  boost::asio::ip::tcp::socket socket_;
  std::shared_ptr<boost::asio::ssl::context> context_;
  std::optional<boost::asio::ssl::stream<boost::asio::ip::tcp::socket&>> tls_;
  boost::asio::steady_timer pause_;
  FakeRequest request_;
  std::string client_subject_;
  int number_;
  bool wrote_ = false;
  std::string unread_;
};

}  // namespace koordlet::test
