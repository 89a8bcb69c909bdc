#include "net/http_server.hpp"

#include <filesystem>
#include <stdexcept>
#include <sys/resource.h>
#include <unistd.h>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <doctest/doctest.h>

#include "support/fake_tree.hpp"
#include "support/http_fixture.hpp"

using namespace std::chrono_literals;
using koordlet::Errc;
using koordlet::net::HttpRequest;
using koordlet::net::HttpResponse;
using koordlet::net::HttpServer;
using koordlet::test::Client;
using koordlet::test::echo;
using koordlet::test::FakeTree;
using koordlet::test::get;
using koordlet::test::open_descriptors;
using koordlet::test::RunningServer;
namespace asio = boost::asio;

namespace {

koordlet::Result<void> on_loopback(HttpServer& server) { return server.listen_tcp("127.0.0.1:0"); }

HttpServer::Limits small() {
  HttpServer::Limits limits;
  limits.request_timeout = 100ms;
  limits.idle_timeout = 100ms;
  return limits;
}

void check_problem(const Client::Answer& answer, int status) {
  REQUIRE(answer.status == status);
  CHECK(answer.head.find("Content-Type: application/problem+json\r\n") != std::string::npos);
  const auto body = boost::json::parse(answer.body);
  CHECK(body.at("type").as_string() == "about:blank");
  CHECK(body.at("status").to_number<int>() == status);
  CHECK_FALSE(body.at("title").as_string().empty());
  CHECK_FALSE(body.at("detail").as_string().empty());
}

std::chrono::microseconds cpu_time() {
  rusage u{};
  ::getrusage(RUSAGE_SELF, &u);
  return std::chrono::seconds{u.ru_utime.tv_sec + u.ru_stime.tv_sec} +
         std::chrono::microseconds{u.ru_utime.tv_usec + u.ru_stime.tv_usec};
}

asio::awaitable<HttpResponse> slow_echo(HttpRequest request) {
  asio::steady_timer timer{co_await asio::this_coro::executor, 5ms};
  co_await timer.async_wait(asio::use_awaitable);
  if (request.path == "/throw") throw std::runtime_error{"secret"};
  co_return echo(request);
}

asio::awaitable<HttpResponse> never(HttpRequest) {
  asio::steady_timer timer{co_await asio::this_coro::executor};
  timer.expires_at(asio::steady_timer::time_point::max());
  co_await timer.async_wait(asio::use_awaitable);
  co_return HttpResponse{};
}

}  // namespace

TEST_SUITE("net/http_server/requests") {
  TEST_CASE("a request reaches the handler and its answer comes back") {
    RunningServer server{echo, {}, on_loopback};
    auto client = Client::tcp(server.port());
    const auto answer =
        client.ask("POST /a/b?c=d HTTP/1.1\r\nHost: 127.0.0.1:1\r\nContent-Length: 4\r\n\r\nbody");
    CHECK(answer.status == 200);
    CHECK(answer.body == "POST /a/b?c=d|127.0.0.1:1|body|tcp");
    CHECK(answer.head.find("Content-Type: text/plain\r\n") != std::string::npos);
    CHECK(answer.head.find("X-Content-Type-Options: nosniff\r\n") != std::string::npos);
    CHECK(server.requests() == 1);
  }

  TEST_CASE("two requests on one connection, one after the other and pipelined") {
    RunningServer server{echo, {}, on_loopback};
    auto client = Client::tcp(server.port());
    CHECK(client.ask(get("/1")).body == "GET /1?|localhost||tcp");
    CHECK(client.ask(get("/2")).body == "GET /2?|localhost||tcp");
    client.send(get("/3") + get("/4") + get("/5"));
    CHECK(client.read().body == "GET /3?|localhost||tcp");
    CHECK(client.read().body == "GET /4?|localhost||tcp");
    CHECK(client.read().body == "GET /5?|localhost||tcp");
    CHECK(server.connections() == 1);
  }

  TEST_CASE("a request that comes byte by byte is one request") {
    RunningServer server{echo, {}, on_loopback};
    auto client = Client::tcp(server.port());
    const std::string bytes =
        "POST /x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
    for (const char c : bytes) client.send(std::string_view{&c, 1});
    CHECK(client.read().body == "POST /x?|localhost|abcde|tcp");
  }

  TEST_CASE("HEAD is GET without the body") {
    RunningServer server{echo, {}, on_loopback};
    auto client = Client::tcp(server.port());
    client.send("HEAD /a HTTP/1.1\r\nHost: localhost\r\n\r\n");
    const auto answer = client.read(false);
    CHECK(answer.status == 200);
    CHECK(answer.head.find("Content-Length: 22\r\n") != std::string::npos);
    CHECK(client.ask(get("/b")).body == "GET /b?|localhost||tcp");
  }

  TEST_CASE("other methods are 405 with Allow, and the connection goes on") {
    RunningServer server{echo, {}, on_loopback};
    auto client = Client::tcp(server.port());
    for (const char* method : {"PUT", "DELETE", "OPTIONS", "TRACE", "BREW"}) {
      CAPTURE(method);
      const auto answer =
          client.ask(std::string{method} + " / HTTP/1.1\r\nHost: localhost\r\n\r\n");
      check_problem(answer, 405);
      CHECK(answer.head.find("Allow: GET, HEAD, POST\r\n") != std::string::npos);
    }
    CHECK(client.ask(get("/")).status == 200);
  }

  TEST_CASE("HTTP/1.0 and Connection: close end the connection after the answer") {
    RunningServer server{echo, {}, on_loopback};
    for (const char* request : {"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n",
                                "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"}) {
      CAPTURE(request);
      auto client = Client::tcp(server.port());
      const auto answer = client.ask(request);
      CHECK(answer.status == 200);
      CHECK(answer.head.find("Connection: close\r\n") != std::string::npos);
      CHECK(client.closed());
    }
  }

  TEST_CASE("Expect: 100-continue is honoured") {
    RunningServer server{echo, {}, on_loopback};
    auto client = Client::tcp(server.port());
    client.send(
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
    CHECK(client.read().status == 100);
    CHECK(client.ask("ok").body == "POST /?|localhost|ok|tcp");
  }

  TEST_CASE("an exception of the handler is 500 without its text") {
    RunningServer server{
        [](const HttpRequest&) -> HttpResponse { throw std::runtime_error{"secret"}; },
        {},
        on_loopback};
    auto client = Client::tcp(server.port());
    const auto answer = client.ask(get("/"));
    check_problem(answer, 500);
    CHECK(answer.body.find("secret") == std::string::npos);
    CHECK(client.ask(get("/")).status == 500);
  }

  TEST_CASE("what a page needs: Accept and If-None-Match arrive, fields of the answer go out") {
    RunningServer server{[](const HttpRequest& request) {
                           HttpResponse out{200, "text/html", request.accept};
                           out.cache_control = "no-cache";
                           out.headers = "ETag: \"a\"\r\nVary: Accept\r\n";
                           if (request.if_none_match == "\"a\"") out.status = 304;
                           return out;
                         },
                         {},
                         on_loopback};
    auto client = Client::tcp(server.port());
    const auto page = client.ask("GET / HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\n\r\n");
    CHECK(page.body == "text/html");
    CHECK(page.head.find("Cache-Control: no-cache\r\n") != std::string::npos);
    CHECK(page.head.find("ETag: \"a\"\r\nVary: Accept\r\n") != std::string::npos);
    client.send("GET / HTTP/1.1\r\nHost: localhost\r\nIf-None-Match: \"a\"\r\n\r\n");
    const auto same = client.read(false);
    CHECK(same.status == 304);
    CHECK(same.head.find("Content-Length") == std::string::npos);
    CHECK(client.ask(get("/")).body.empty());
  }

  TEST_CASE("a status that is none becomes 500") {
    RunningServer server{[](const HttpRequest&) {
                           return HttpResponse{7, "text/plain", "x"};
                         },
                         {},
                         on_loopback};
    auto client = Client::tcp(server.port());
    check_problem(client.ask(get("/")), 500);
  }

  TEST_CASE("a handler that waits answers too, and others are served meanwhile") {
    RunningServer server{HttpServer::AsyncHandler{slow_echo}, {}, on_loopback};
    auto a = Client::tcp(server.port());
    auto b = Client::tcp(server.port());
    a.send(get("/a"));
    b.send(get("/b"));
    CHECK(b.read().body == "GET /b?|localhost||tcp");
    CHECK(a.read().body == "GET /a?|localhost||tcp");
    check_problem(a.ask(get("/throw")), 500);
  }

  TEST_CASE("an answer of some megabytes arrives whole") {
    RunningServer server{[](const HttpRequest&) {
                           return HttpResponse{200, "text/plain", std::string(8 << 20, 'x')};
                         },
                         {},
                         on_loopback};
    auto client = Client::tcp(server.port());
    CHECK(client.ask(get("/")).body == std::string(8 << 20, 'x'));
  }

  TEST_CASE("ten thousand requests leave no descriptor behind") {
    RunningServer server{echo, {}, on_loopback};
    const int before = open_descriptors();
    for (int i = 0; i < 100; ++i) {
      auto client = Client::tcp(server.port());
      for (int k = 0; k < 100; ++k) REQUIRE(client.ask(get("/")).status == 200);
    }
    CHECK(server.requests() == 10'000);
    while (server.connections() != 0) std::this_thread::yield();
    CHECK(open_descriptors() == before);
  }
}

TEST_SUITE("net/http_server/refusals") {
  TEST_CASE("an announced body of 100 MB is 413 before it is sent") {
    RunningServer server{echo, {}, on_loopback};
    auto client = Client::tcp(server.port());
    check_problem(
        client.ask("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 104857600\r\n\r\n"), 413);
    CHECK(client.closed());
  }

  TEST_CASE("a chunked body over the limit is 413, also for a client that keeps sending") {
    RunningServer server{echo, {}, on_loopback};
    auto client = Client::tcp(server.port());
    client.send("POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
    const std::string chunk = "4000\r\n" + std::string(0x4000, 'x') + "\r\n";
    for (int i = 0; i < 8; ++i) client.send(chunk);
    check_problem(client.read(), 413);
  }

  TEST_CASE("a body of exactly the limit passes") {
    RunningServer server{echo, {}, on_loopback};
    auto client = Client::tcp(server.port());
    const std::string body(64 * 1024, 'b');
    const auto answer =
        client.ask("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 65536\r\n\r\n" + body);
    CHECK(answer.status == 200);
    CHECK(answer.body.find(body) != std::string::npos);
  }

  TEST_CASE("a header over 8 KiB is 431, in one field or without an end") {
    RunningServer server{echo, {}, on_loopback};
    for (const std::string& tail : {std::string{"\r\n\r\n"}, std::string{}}) {
      auto client = Client::tcp(server.port());
      client.send("GET / HTTP/1.1\r\nHost: localhost\r\nX: " + std::string(9000, 'x') + tail);
      check_problem(client.read(), 431);
      CHECK(client.closed());
    }
  }

  TEST_CASE("garbage is 400 and the end of the connection") {
    RunningServer server{echo, {}, on_loopback};
    for (const char* bytes : {"\x16\x03\x01\x02\x01\x01\r\n\r\n",
                              "hello\r\n\r\n",
                              "GET  HTTP/1.1\r\n\r\n",
                              "GET / HTTP/3.7\r\n\r\n",
                              "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
                              "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n"
                              "Content-Length: 2\r\n\r\n",
                              "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n"
                              "Transfer-Encoding: chunked\r\n\r\n"}) {
      CAPTURE(bytes);
      auto client = Client::tcp(server.port());
      check_problem(client.ask(bytes), 400);
      CHECK(client.closed());
    }
  }

  TEST_CASE("a Host of somebody else is 421, missing or doubled 400") {
    RunningServer server{echo, {}, on_loopback};
    auto client = Client::tcp(server.port());
    check_problem(client.ask(get("/", "evil.example")), 421);
    check_problem(client.ask(get("/", "evil.example:6060")), 421);
    check_problem(client.ask(get("http://evil.example/", "localhost")), 421);
    check_problem(client.ask("GET / HTTP/1.1\r\n\r\n"), 400);
    check_problem(client.ask("GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n"), 400);
    for (const char* host : {"localhost", "127.0.0.1", "[::1]", "localhost:1", "[::1]:6060"}) {
      CAPTURE(host);
      CHECK(client.ask(get("/", host)).status == 200);
    }
  }

  TEST_CASE("a web page of somebody else cannot POST") {
    RunningServer server{echo, {}, on_loopback};
    auto client = Client::tcp(server.port());
    const std::string head = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nOrigin: ";
    check_problem(client.ask(head + "https://evil.example\r\n\r\n"), 403);
    check_problem(client.ask(head + "http://evil.example\r\n\r\n"), 403);
    check_problem(client.ask(head + "null\r\n\r\n"), 403);
    CHECK(client.ask(head + "http://localhost:6060\r\n\r\n").status == 200);
  }

  TEST_CASE("path tricks are 400 and never reach the handler") {
    RunningServer server{
        [](const HttpRequest& r) {
          return HttpResponse{r.path.find("..") == std::string::npos ? 200U : 299U, "a/b", "x"};
        },
        {},
        on_loopback};
    auto client = Client::tcp(server.port());
    for (const char* target :
         {"/../etc/passwd", "/%2e%2e/etc", "/a/%2E%2E/%2E%2E", "/%00", "/a%2fb"}) {
      CAPTURE(target);
      check_problem(client.ask(get(target)), 400);
    }
  }
}

TEST_SUITE("net/http_server/connections") {
  TEST_CASE("a request that does not arrive in time is 408") {
    RunningServer server{echo, small(), on_loopback};
    auto client = Client::tcp(server.port());
    check_problem(client.ask("GET / HTTP/1.1\r\nHos"), 408);
    CHECK(client.closed());
  }

  TEST_CASE("dripping bytes do not extend the time of a request") {
    RunningServer server{echo, small(), on_loopback};
    auto client = Client::tcp(server.port());
    std::thread drip{[&client] {
      client.send("GET / HTTP/1.1\r\nX: ");
      for (int i = 0; i < 30; ++i) {
        client.send("x");
        std::this_thread::sleep_for(10ms);
      }
    }};
    const auto answer = client.read();
    drip.join();
    check_problem(answer, 408);
  }

  TEST_CASE("an idle connection is closed without a word") {
    RunningServer server{echo, small(), on_loopback};
    auto fresh = Client::tcp(server.port());
    auto used = Client::tcp(server.port());
    CHECK(used.ask(get("/")).status == 200);
    CHECK(fresh.closed());
    CHECK(used.closed());
    CHECK(server.connections() == 0);
  }

  TEST_CASE("a client that does not read its answer is dropped") {
    auto limits = small();
    RunningServer server{[](const HttpRequest&) {
                           return HttpResponse{200, "text/plain", std::string(100'000, 'x')};
                         },
                         limits,
                         on_loopback};
    auto client = Client::tcp(server.port());
    std::string many;
    for (int i = 0; i < 400; ++i) many += get("/");
    client.send(many);
    while (server.requests() == 0) std::this_thread::yield();
    while (server.connections() != 0) std::this_thread::yield();
    CHECK(server.requests() < 400);  // 40 MB do not fit into the socket buffers
  }

  TEST_CASE("one connection too many: the oldest idle one goes") {
    HttpServer::Limits limits;
    limits.max_connections = 2;
    RunningServer server{echo, limits, on_loopback};
    auto a = Client::tcp(server.port());
    CHECK(a.ask(get("/")).status == 200);
    auto b = Client::tcp(server.port());
    CHECK(b.ask(get("/")).status == 200);
    CHECK(a.ask(get("/")).status == 200);  // now b is the one that has been idle longest
    auto c = Client::tcp(server.port());
    CHECK(c.ask(get("/")).status == 200);
    CHECK(b.closed());
    CHECK(a.ask(get("/")).status == 200);
    CHECK(server.connections() == 2);
  }

  TEST_CASE("one connection too many and none idle: 503") {
    HttpServer::Limits limits;
    limits.max_connections = 1;
    RunningServer server{echo, limits, on_loopback};
    // Until its first bytes are read a connection counts as idle and goes: try again then.
    bool seen = false;
    while (!seen) {
      auto busy = Client::tcp(server.port());
      busy.send("GET / HTTP/1.1\r\nHost: local");
      auto other = Client::tcp(server.port());
      const auto answer = other.ask(get("/"));
      if (answer.status == 200) continue;
      seen = true;
      check_problem(answer, 503);
      CHECK(busy.ask("host\r\n\r\n").status == 200);
    }
  }

  TEST_CASE("stop while clients are connected, in a request, and in a handler that waits") {
    RunningServer server{HttpServer::AsyncHandler{never}, {}, on_loopback};
    auto idle = Client::tcp(server.port());
    auto half = Client::tcp(server.port());
    auto waiting = Client::tcp(server.port());
    half.send("GET / HTT");
    waiting.send(get("/"));
    while (server.connections() != 3) std::this_thread::yield();
    CHECK(server.stop());
    CHECK(idle.closed());
    CHECK(half.closed());
    CHECK(waiting.closed());
    CHECK_THROWS_AS(Client::tcp(server.port()), std::exception);
  }

  TEST_CASE("without descriptors left it pauses, and serves when there are some again") {
    RunningServer server{echo, {}, on_loopback};
    rlimit before{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
    auto client = Client::tcp(0);
    const int lowest_free = ::dup(0);
    ::close(lowest_free);
    rlimit none = before;
    none.rlim_cur = static_cast<rlim_t>(lowest_free);
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
    const bool connected = client.connect(server.port());
    client.send(get("/"));
    const auto used = cpu_time();
    std::this_thread::sleep_for(350ms);
    const auto spent = cpu_time() - used;
    const auto connections = server.connections();
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
    CHECK(connected);
    CHECK(connections == 0);
    CHECK(spent < 100ms);  // a loop that spins would have burnt what the machine gives it
    CHECK(client.read().status == 200);
  }
}

TEST_SUITE("net/http_server/unix") {
  TEST_CASE("any Host will do on the unix socket, and the handler knows where it is") {
    const FakeTree tree;
    const auto path = tree.path("run/k.sock");
    RunningServer server{echo, {}, [&](HttpServer& s) { return s.listen_unix(path); }};
    CHECK(server.address().empty());
    auto client = Client::unix_socket(path);
    CHECK(client.ask(get("/", "whatever")).body == "GET /?|whatever||unix");
    CHECK(server.stop());
    CHECK_FALSE(std::filesystem::exists(path));
  }

  TEST_CASE("TCP and unix listeners at once, errors for the second of each kind") {
    const FakeTree tree;
    const auto path = tree.path("k.sock");
    RunningServer server{echo, {}, [&](HttpServer& s) -> koordlet::Result<void> {
                           auto tcp = s.listen_tcp("127.0.0.1:0");
                           if (!tcp) return tcp;
                           return s.listen_unix(path);
                         }};
    CHECK(Client::tcp(server.port()).ask(get("/")).status == 200);
    CHECK(Client::unix_socket(path).ask(get("/")).status == 200);
    asio::io_context io;
    HttpServer other{io.get_executor(), HttpServer::Handler{echo}, {}};
    const auto tcp = other.listen_tcp(server.address());
    REQUIRE(tcp.has_error());
    CHECK(tcp.error().code == Errc::kBusy);
    CHECK(tcp.error().context.find(server.address()) != std::string::npos);
    const auto local = other.listen_unix(path);
    REQUIRE(local.has_error());
    CHECK(local.error().code == Errc::kBusy);
    CHECK(other.listen_tcp("0.0.0.0:0").error().code == Errc::kDenied);
  }
}
