#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/local/stream_protocol.hpp>

#include "support/fake_cri_server.hpp"

struct nghttp2_session;

namespace koordlet::test {

class FakeCriConnection;

struct FakeCriServer::State : std::enable_shared_from_this<FakeCriServer::State> {
  explicit State(const boost::asio::any_io_executor& ex) : acceptor{ex} {}
  void listen();
  void accept();
  std::vector<std::shared_ptr<FakeCriConnection>> open() const;

  boost::asio::local::stream_protocol::acceptor acceptor;
  std::string path;
  Script script;  ///< empty: the server is gone
  bool split = false, mute = false;
  std::uint32_t max_streams = 100;
  int closing = 0, accepted = 0, pongs = 0;
  std::vector<std::weak_ptr<FakeCriConnection>> connections;
  std::vector<boost::asio::local::stream_protocol::socket> muted;
  std::vector<GrpcCall> calls;
  std::vector<std::uint32_t> resets, goaways;
};

/// One HTTP/2 connection of the server side, held by its reads and writes.
class FakeCriConnection : public std::enable_shared_from_this<FakeCriConnection> {
 public:
  FakeCriConnection(boost::asio::local::stream_protocol::socket socket,
                    std::shared_ptr<FakeCriServer::State> state);
  ~FakeCriConnection();
  void start();
  void release();
  void ping();
  void close();
  bool is_open() const { return socket_.is_open(); }
  std::size_t streams() const { return streams_.size(); }

 private:
  struct Stream {
    GrpcCall call;
    std::string body;  ///< of the request
    GrpcAnswer answer;
    std::size_t sent = 0;
  };
  struct Callbacks;

  void read();
  void write();
  void asked(std::int32_t id);
  void answer(std::int32_t id);
  void send_answer(std::int32_t id, Stream& s);
  void say_goodbye(std::int32_t last_id);
  void submit_trailers(std::int32_t id, const Stream& s);

  boost::asio::local::stream_protocol::socket socket_;
  std::shared_ptr<FakeCriServer::State> state_;
  int number_;
  nghttp2_session* session_ = nullptr;
  std::map<std::int32_t, Stream> streams_;
  std::vector<std::int32_t> asked_;  ///< to be answered once nghttp2 has returned
  std::string inbox_, outbox_;
  std::string raw_;  ///< goes out behind nghttp2's frames
  std::size_t written_ = 0;
  bool writing_ = false, close_after_ = false;
};

}  // namespace koordlet::test
