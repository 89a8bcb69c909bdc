#pragma once

#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "net/http_server.hpp"
#include "reactor/task_group.hpp"

namespace koordlet::test {

/// A server on its own thread and loop, stopped and joined on destruction.
class RunningServer {
 public:
  using Prepare = std::function<Result<void>(net::HttpServer&)>;
  template <class Handler>
  RunningServer(Handler handler, net::HttpServer::Limits limits, const Prepare& prepare)
      : io_{},
        server_{io_.get_executor(), std::move(handler), limits},
        group_{io_.get_executor(), nullptr} {
    start(prepare);
  }
  ~RunningServer();
  RunningServer(const RunningServer&) = delete;
  RunningServer& operator=(const RunningServer&) = delete;

  bool stop();  ///< true: run() ended
  std::string address() const { return server_.tcp_address(); }
  int port() const;
  std::uint64_t requests() {
    return on_loop<std::uint64_t>([this] { return server_.requests(); });
  }
  std::size_t connections() {
    return on_loop<std::size_t>([this] { return server_.connections(); });
  }

 private:
  void start(const Prepare& prepare);
  template <class T>
  T on_loop(std::function<T()> f);

  boost::asio::io_context io_;
  net::HttpServer server_;
  reactor::TaskGroup group_;
  std::thread thread_;
};

/// A blocking client connection. Every wait ends after 10 s, as if the peer had closed.
class Client {
 public:
  static Client tcp(int port);  ///< port 0: a socket for connect()
  bool connect(int port);
  static Client unix_socket(const std::string& path);
  Client(Client&& o) noexcept : fd_{std::exchange(o.fd_, -1)}, buffer_{std::move(o.buffer_)} {}
  ~Client();

  struct Answer {
    int status = 0;  ///< 0: the peer closed before a whole answer
    std::string head;
    std::string body;
  };
  void send(std::string_view bytes);  ///< as much as the peer takes; errors are not reported
  Answer read(bool with_body = true);
  Answer ask(std::string_view bytes) {
    send(bytes);
    return read();
  }
  bool closed();  ///< reads on until the end: true when the peer closed and sent nothing more

 private:
  explicit Client(int fd);
  bool more();
  int fd_;
  std::string buffer_;
};

net::HttpResponse echo(const net::HttpRequest& request);  ///< "METHOD path?query|host|body|unix"
std::string get(std::string_view target, std::string_view host = "localhost");
int open_descriptors();

template <class T>
T RunningServer::on_loop(std::function<T()> f) {
  std::promise<T> out;
  boost::asio::post(io_, [&] { out.set_value(f()); });
  return out.get_future().get();
}

}  // namespace koordlet::test
