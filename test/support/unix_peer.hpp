#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/write.hpp>

namespace koordlet::test {

/// Listens on a unix socket, on the caller's loop. Each connection: reads something, says the given
/// bytes, and closes, or keeps the connection open. Once destroyed it takes no new ones.
class UnixPeer {
 public:
  enum class Then { kClose, kKeep };

  UnixPeer(boost::asio::any_io_executor ex, const std::string& path, std::string says, Then then)
      : state_{std::make_shared<State>(ex, path, std::move(says), then)} {
    accept(state_);
  }
  ~UnixPeer() {
    boost::system::error_code ignored;
    state_->acceptor.close(ignored);
    state_->kept.reset();
  }
  UnixPeer(const UnixPeer&) = delete;
  UnixPeer& operator=(const UnixPeer&) = delete;

  const std::string& heard() const { return state_->heard; }  ///< first read of the last connection
  int accepted() const { return state_->accepted; }

 private:
  using Socket = boost::asio::local::stream_protocol::socket;
  using Code = boost::system::error_code;
  struct State {
    State(const boost::asio::any_io_executor& ex, const std::string& path, std::string s, Then t)
        : acceptor{ex, boost::asio::local::stream_protocol::endpoint{path}},
          says{std::move(s)},
          then{t},
          heard{} {}
    boost::asio::local::stream_protocol::acceptor acceptor;
    std::string says;
    Then then;
    std::string heard;
    int accepted = 0;
    std::shared_ptr<Socket> kept;
  };

  static void accept(std::shared_ptr<State> state) {
    state->acceptor.async_accept([state](const Code& ec, Socket socket) {
      if (ec) return;
      ++state->accepted;
      talk(state, std::make_shared<Socket>(std::move(socket)));
      accept(state);
    });
  }
  static void talk(std::shared_ptr<State> state, std::shared_ptr<Socket> socket) {
    const auto inbox = std::make_shared<std::string>(65536, '\0');
    socket->async_read_some(
        boost::asio::buffer(*inbox), [state, socket, inbox](const Code& failed, std::size_t n) {
          if (failed) return;
          state->heard = inbox->substr(0, n);
          if (state->then == Then::kKeep) state->kept = socket;
          boost::asio::async_write(*socket,
                                   boost::asio::buffer(state->says),
                                   [state, socket](const Code&, std::size_t) {});
        });
  }
  std::shared_ptr<State> state_;
};

}  // namespace koordlet::test
