#include "net/http_client.hpp"

#include <doctest/doctest.h>

#include "client_fixture.hpp"

namespace koordlet::test {
namespace {

using boost::asio::awaitable;
using net::HttpClient;
using std::chrono::milliseconds;

awaitable<void> answer_target(FakeConnection& c) {
  FakeAnswer answer{200, c.request().target, "text/plain"};
  co_await c.answer(std::move(answer));
}

/// Row 31 wants two answers on one connection; "/drop" loses the kept one.
awaitable<void> answer_or_drop(FakeConnection& c) {
  const bool drop = c.request().target == "/drop" && c.request().connection == 1;
  if (drop) {
    co_await c.close();
  } else {
    co_await answer_target(c);
  }
}

awaitable<void> begin_and_reset(FakeConnection& c) {
  if (c.request().target == "/half") {
    co_await c.write_raw("HTTP/1.1 20");
    co_await c.wait(milliseconds{20});
    c.reset();
  } else {
    co_await answer_target(c);
  }
}

awaitable<void> close_unanswered(FakeConnection& c) { co_await c.close(); }

awaitable<void> raw_answers(FakeConnection& c) {
  const auto target = c.request().target;
  if (target == "/interim") {
    co_await c.write_raw(
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
    co_await answer_target(c);
  } else if (target == "/upgrade") {
    co_await c.write_raw("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n");
  } else if (target == "/endless-interim") {
    bool open = true;
    while (open) open = co_await c.write_raw("HTTP/1.1 100 Continue\r\n\r\n");
  } else if (target == "/close") {
    co_await c.write_raw("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok");
  } else if (target == "/204") {
    FakeAnswer answer{204, ""};
    co_await c.answer(std::move(answer));
  } else if (target == "/304") {
    co_await c.write_raw("HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n");
  } else {
    co_await answer_target(c);
  }
}

}  // namespace

TEST_SUITE("http_client") {
  TEST_CASE("row 31: two answers on one connection") {
    for (const Wire wire : kWires) {
      CAPTURE(static_cast<int>(wire));
      ClientAndServer t{wire, answer_target};
      CHECK(t.get("/1").value().body == "/1");
      CHECK(t.get("/2").value().body == "/2");
      CHECK(t.server.accepted() == 1);
      const auto stats = t.client->stats();
      CHECK(stats.connects == 1);
      CHECK(stats.requests == 2);
      CHECK(stats.reused == 1);
      CHECK(stats.failures == 0);
      CHECK(stats.open == 0);
      CHECK(stats.kept == 1);
    }
  }

  TEST_CASE("the request arrives as it was given") {
    for (const Wire wire : kWires) {
      ClientAndServer t{wire, saying("")};
      net::ClientRequest request;
      request.method = "PATCH";
      request.target = "/api/v1/nodes/n1?fieldManager=koordlet&x=%20";
      request.headers = {{"Authorization", "Bearer abc"}, {"Content-Type", "application/json"}};
      request.body = "{\"a\":1}";
      REQUIRE(run(t.io, t.client->request(request)).has_value());
      REQUIRE(t.server.requests().size() == 1);
      const auto& got = t.server.requests().front();
      CHECK(got.method == "PATCH");
      CHECK(got.target == request.target);
      CHECK(got.header("authorization") == "Bearer abc");
      CHECK(got.header("Host") == "127.0.0.1:" + std::to_string(t.server.port()));
      CHECK(got.header("Content-Length") == "7");
      CHECK(got.body == request.body);
    }
  }

  TEST_CASE("a large body goes out whole") {
    for (const Wire wire : kWires) {
      ClientAndServer t{wire, saying("ok")};
      net::ClientRequest request;
      request.method = "POST";
      request.target = "/";
      request.body = std::string(900'000, 'b');
      REQUIRE(run(t.io, t.client->request(request)).has_value());
      CHECK(t.server.requests().front().body == request.body);
    }
  }

  TEST_CASE("a kept connection that the server closes is noticed while it is idle") {
    for (const Wire wire : kWires) {
      ClientAndServer t{wire, answer_target};
      REQUIRE(t.get("/1").has_value());
      t.server.drop_connections();
      CHECK(run_until(t.io, [&] { return t.client->stats().kept == 0; }));
      CHECK(t.get("/2").value().body == "/2");
      CHECK(t.server.accepted() == 2);
    }
  }

  TEST_CASE("a kept connection that closes on the request: sent again, once, on a new one") {
    for (const Wire wire : kWires) {
      ClientAndServer t{wire, answer_or_drop};
      REQUIRE(t.get("/1").has_value());
      CHECK(t.get("/drop").value().body == "/drop");
      CHECK(t.server.accepted() == 2);
      CHECK(t.server.requests().size() == 3);
      CHECK(t.client->stats().failures == 0);
    }
  }

  TEST_CASE("a kept connection that breaks after the first byte: not sent again") {
    for (const Wire wire : kWires) {
      ClientAndServer t{wire, begin_and_reset};
      REQUIRE(t.get("/1").has_value());
      const auto out = t.get("/half");
      REQUIRE(out.has_error());
      CHECK(out.error().code == Errc::kIo);
      CHECK(t.server.requests().size() == 2);
    }
  }

  TEST_CASE("a new connection that closes without an answer: not sent again") {
    for (const Wire wire : kWires) {
      ClientAndServer t{wire, close_unanswered};
      const auto out = t.get();
      REQUIRE(out.has_error());
      CHECK(out.error().code == Errc::kIo);
      CHECK(out.error().context.find("closed without an answer") != std::string::npos);
      CHECK(t.server.requests().size() == 1);
      CHECK(t.client->stats().failures == 1);
    }
  }

  TEST_CASE("interim answers are skipped, a switch of protocols and endless ones are refused") {
    ClientAndServer t{Wire::kPlain, raw_answers};
    CHECK(t.get("/interim").value().body == "/interim");
    CHECK(t.get("/after").value().body == "/after");
    CHECK(t.server.accepted() == 1);
    CHECK(t.get("/upgrade").error().code == Errc::kParse);
    CHECK(t.get("/endless-interim").error().code == Errc::kParse);
  }

  TEST_CASE("answers without a body leave the connection usable") {
    ClientAndServer t{Wire::kTls, raw_answers};
    CHECK(t.get("/204").value().head.status == 204);
    CHECK(t.get("/304").value().head.status == 304);
    auto head = ClientAndServer::to("/long");
    head.method = "HEAD";
    CHECK(run(t.io, t.client->request(head)).value().body.empty());
    CHECK(t.get("/after").value().body == "/after");
    CHECK(t.server.accepted() == 1);
  }

  TEST_CASE("Connection: close is obeyed") {
    for (const Wire wire : kWires) {
      ClientAndServer t{wire, raw_answers};
      CHECK(t.get("/close").value().body == "ok");
      CHECK(t.client->stats().kept == 0);
      CHECK(t.client->stats().open == 0);
    }
  }

  TEST_CASE("idle connections are bounded in time and in number") {
    HttpClient::Limits limits;
    limits.max_kept = 1;
    limits.keep_idle = milliseconds{30};
    ClientAndServer t{Wire::kTls, answer_target, limits};
    using One = Started<Result<net::ClientResponse>>;
    One a{t.io, t.client->request(ClientAndServer::to("/a"))};
    One b{t.io, t.client->request(ClientAndServer::to("/b"))};
    CHECK(run_until(t.io, [&] { return a.done() && b.done(); }));
    CHECK(a.out().value().body == "/a");
    CHECK(b.out().value().body == "/b");
    CHECK(t.server.accepted() == 2);
    CHECK(t.client->stats().kept <= 1);
    CHECK(run_until(t.io, [&] { return t.client->stats().kept == 0; }));
    CHECK(run_until(t.io, [&] { return t.server.connections() == 0; }));
  }

  TEST_CASE("new credentials close the kept connections, and those in use at their end") {
    ClientAndServer t{Wire::kTls, answer_target};
    REQUIRE(t.get("/1").has_value());
    t.client->set_tls(trusting(client_test_ca().pem()));
    CHECK(t.client->stats().kept == 0);
    CHECK(t.get("/2").has_value());
    CHECK(t.server.accepted() == 2);
  }

  TEST_CASE("a server that restarts on the same port is found again") {
    for (const Wire wire : kWires) {
      ClientAndServer t{wire, answer_target};
      REQUIRE(t.get("/1").has_value());
      t.server.stop_listening();
      t.server.drop_connections();
      const auto down = t.get("/2");
      REQUIRE(down.has_error());
      CHECK(down.error().code == Errc::kIo);
      t.server.listen_again();
      CHECK(t.get("/3").value().body == "/3");
    }
  }
}

}  // namespace koordlet::test
