#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <doctest/doctest.h>

#include "history_fixture.hpp"
#include "modules/status_api/status_api.hpp"
#include "support/async.hpp"
#include "support/fake_tree.hpp"
#include "view_fixture.hpp"

using namespace koordlet;
using namespace koordlet::test;
namespace asio = boost::asio;

namespace {

template <class Protocol>
asio::awaitable<std::string> ask(typename Protocol::endpoint to, std::string request) {
  auto ex = co_await asio::this_coro::executor;
  typename Protocol::socket socket(ex);
  co_await socket.async_connect(to, asio::use_awaitable);
  co_await asio::async_write(socket, asio::buffer(request), asio::use_awaitable);
  std::string answer;
  boost::system::error_code ec;
  auto buffer = asio::dynamic_buffer(answer);
  auto token = asio::redirect_error(asio::use_awaitable, ec);
  co_await asio::async_read(socket, buffer, token);  // until the server closes
  co_return answer;
}

asio::ip::tcp::endpoint tcp_endpoint(const std::string& address) {
  const auto colon = address.rfind(':');
  return {asio::ip::make_address(address.substr(0, colon)),
          static_cast<unsigned short>(std::stoi(address.substr(colon + 1)))};
}

std::string request(const std::string& method, const std::string& target) {
  return fmt::format(
      "{} {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
      method,
      target);
}

struct Running {
  Running() {
    StatusApi::Config config;
    config.socket = tree.path("api/koordlet.sock");
    config.listen = "127.0.0.1:0";
    config.metrics_listen = "127.0.0.1:0";
    api.emplace(
        io.get_executor(),
        config,
        [] { return make_view(CgroupVersion::kV2); },
        [this] {
          ++restores;
          return std::vector<Outcome>{};
        },
        &history);
    REQUIRE(api->open().has_value());
    asio::co_spawn(
        io, api->run(), asio::bind_cancellation_slot(stop.slot(), [this](std::exception_ptr) {
          stopped = true;
        }));
  }
  ~Running() {
    stop.emit(asio::cancellation_type::terminal);
    io.restart();
    io.run();
    CHECK(stopped);
  }
  std::string tcp(const std::string& address, const std::string& text) {
    return run(io, ask<asio::ip::tcp>(tcp_endpoint(address), text));
  }
  std::string unix_socket(const std::string& text) {
    return run(io, ask<asio::local::stream_protocol>(tree.path("api/koordlet.sock"), text));
  }

  FakeTree tree;
  FakeHistory history;
  asio::io_context io;
  asio::cancellation_signal stop;
  std::optional<StatusApi> api;
  int restores = 0;
  bool stopped = false;
};

bool has_status(const std::string& answer, int status) {
  return answer.rfind(fmt::format("HTTP/1.1 {} ", status), 0) == 0;
}

}  // namespace

TEST_SUITE("status_api/listeners") {
  TEST_CASE("each listener serves its own part, and all end on a cancel") {
    Running server;
    CHECK(has_status(server.tcp(server.api->listen_address(), request("GET", "/api/v1/status")),
                     200));
    CHECK(has_status(server.unix_socket(request("GET", "/api/v1/status")), 200));
    CHECK(has_status(server.tcp(server.api->metrics_address(), request("GET", "/metrics")), 200));
    CHECK(has_status(server.tcp(server.api->metrics_address(), request("GET", "/api/v1/status")),
                     404));
  }
  TEST_CASE("history is answered on both API listeners, and not beside /metrics") {
    Running server;
    server.history.put("pod_cpu_usage", "u1", {{590, 4}});
    const auto ask = request("GET", "/api/v1/query?query=pod_cpu_usage&func=last");
    for (const auto& answer :
         {server.tcp(server.api->listen_address(), ask), server.unix_socket(ask)}) {
      CHECK(has_status(answer, 200));
      CHECK(answer.find("\"values\":{\"last\":4}") != std::string::npos);
    }
    CHECK(has_status(server.tcp(server.api->metrics_address(), ask), 404));
    const auto bad = server.unix_socket(request("GET", "/api/v1/query?query=pod_cpu&window=0s"));
    CHECK(has_status(bad, 400));
  }
  TEST_CASE("a question that waits for a disk ends with the server") {
    Running server;
    server.history.hangs = true;
    asio::co_spawn(server.io,
                   ask<asio::local::stream_protocol>(server.tree.path("api/koordlet.sock"),
                                                     request("GET", "/api/v1/series")),
                   [](std::exception_ptr, std::string) {});
    while (server.history.questions == 0) server.io.run_one();
  }
  TEST_CASE("restore runs over the socket, TCP gets 403") {
    Running server;
    const auto post = request("POST", "/api/v1/restore");
    CHECK(has_status(server.tcp(server.api->listen_address(), post), 403));
    CHECK(server.restores == 0);
    CHECK(has_status(server.unix_socket(post), 200));
    CHECK(server.restores == 1);
  }
  TEST_CASE("an address in use is an error that names it") {
    Running server;
    StatusApi::Config config;
    config.socket.clear();
    config.listen.clear();
    config.metrics_listen = server.api->metrics_address();
    StatusApi second(server.io.get_executor(), config, [] { return StatusView{}; }, {});
    const auto opened = second.open();
    REQUIRE(opened.has_error());
    CHECK(opened.error().code == Errc::kBusy);
    CHECK(opened.error().context.find(config.metrics_listen) != std::string::npos);
  }
  TEST_CASE("without listeners it waits for the cancel") {
    asio::io_context io;
    StatusApi api(io.get_executor(), {"", "", ""}, [] { return StatusView{}; }, {});
    REQUIRE(api.open().has_value());
    CHECK(api.listen_address().empty());
    asio::cancellation_signal stop;
    bool ended = false;
    asio::co_spawn(
        io, api.run(), asio::bind_cancellation_slot(stop.slot(), [&](std::exception_ptr) {
          ended = true;
        }));
    io.poll();
    CHECK_FALSE(ended);
    stop.emit(asio::cancellation_type::terminal);
    io.restart();
    io.run();
    CHECK(ended);
  }
}
