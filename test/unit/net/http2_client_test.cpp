#include <doctest/doctest.h>

#include "http2_fixture.hpp"

namespace koordlet::test {
namespace {

using net::find_header;
using std::chrono::milliseconds;

constexpr std::size_t kMessage = 16u << 20;
constexpr std::uint32_t kCancel = 8;  // RFC 9113, section 7

FakeCriServer::Script echoing() {
  return [](const GrpcCall& call) { return saying_grpc(call.path); };
}

FakeCriServer::Script holding() {
  return [](const GrpcCall& call) {
    auto out = saying_grpc(call.path);
    out.held = true;
    return out;
  };
}

}  // namespace

TEST_SUITE("http2_client") {
  TEST_CASE("status, headers, body and trailers come back; the request arrives as it was given") {
    GrpcAnswer answer;
    answer.body = "the body";
    answer.headers = {{"x-more", "1"}};
    answer.words = "fine";
    Http2Pair t{always(answer)};
    auto request = Http2Pair::to("/package.Service/Method", "a question of its own");
    request.headers = {{"te", "trailers"}};
    const auto out = run(t.io, t.client->post(std::move(request)));
    REQUIRE(out.has_value());
    CHECK(out->status == 200);
    CHECK(out->body == "the body");
    REQUIRE(find_header(out->headers, "x-more") != nullptr);
    CHECK(*find_header(out->headers, "x-more") == "1");
    REQUIRE(find_header(out->trailers, "grpc-status") != nullptr);
    CHECK(*find_header(out->trailers, "grpc-status") == "0");
    CHECK(*find_header(out->trailers, "grpc-message") == "fine");
    CHECK(find_header(out->headers, "grpc-status") == nullptr);

    REQUIRE(t.server.calls().size() == 1);
    const auto& call = t.server.calls()[0];
    CHECK(call.header(":method") == "POST");
    CHECK(call.header(":scheme") == "http");
    CHECK(call.header(":authority") == "localhost");
    CHECK(call.path == "/package.Service/Method");
    CHECK(call.header("te") == "trailers");
    CHECK(call.message == "stion of its own");  // less five bytes
  }

  TEST_CASE("the connection is made with the first call and serves the next ones") {
    Http2Pair t{echoing()};
    run_until(t.io, [n = 0]() mutable { return ++n > 3; });
    CHECK(t.server.accepted() == 0);
    for (const char* path : {"/1", "/2", "/3"}) {
      const auto out = t.post(path);
      REQUIRE(out.has_value());
      CHECK(out->body == path);
    }
    CHECK(t.server.accepted() == 1);
    CHECK(t.client->connections() == 1);
  }

  TEST_CASE("calls overlap on one connection and each gets its own answer") {
    Http2Pair t{holding()};
    const auto a = t.start("/a"), b = t.start("/b"), c = t.start("/c");
    REQUIRE(t.until([&] { return t.server.streams() == 3; }));
    t.server.release();
    REQUIRE(t.until([&] { return a->done() && b->done() && c->done(); }));
    CHECK(a->out()->body == "/a");
    CHECK(b->out()->body == "/b");
    CHECK(c->out()->body == "/c");
    CHECK(t.server.accepted() == 1);
  }

  TEST_CASE("1000 calls at once, of which the peer takes 100 at a time") {
    Http2Pair t{echoing()};
    t.server.set_max_streams(100);
    std::vector<std::unique_ptr<Started<Http2Pair::Answer>>> calls;
    for (int i = 0; i < 1000; ++i) calls.push_back(t.start("/" + std::to_string(i)));
    REQUIRE(t.until([&] {
      return std::all_of(calls.begin(), calls.end(), [](const auto& c) { return c->done(); });
    }));
    for (int i = 0; i < 1000; ++i) {
      REQUIRE(calls[i]->out().has_value());
      CHECK(calls[i]->out()->body == "/" + std::to_string(i));
    }
    CHECK(t.server.accepted() == 1);
  }

  TEST_CASE("an answer of 16 MiB passes") {
    Http2Pair t{always(saying_grpc(std::string(kMessage, 'x')))};
    const auto out = t.post();
    REQUIRE(out.has_value());
    CHECK(out->body.size() == kMessage);
    CHECK(out->body.find_first_not_of('x') == std::string::npos);
  }

  TEST_CASE("an answer of one byte more is kRange; its stream is reset, the connection stays") {
    Http2Pair t{once(saying_grpc(std::string(kMessage + 1, 'x')))};
    const auto out = t.post();
    REQUIRE(out.has_error());
    CHECK(out.error().code == Errc::kRange);
    CHECK(out.error().context.find("at most 16777216 bytes") != std::string::npos);
    const auto next = t.post();
    REQUIRE(next.has_value());
    CHECK(next->body == "ok");
    CHECK(t.server.resets() == std::vector{kCancel});
    CHECK(t.server.accepted() == 1);
  }

  TEST_CASE("many answers that are too large leave the connection its flow control window") {
    // The window of a connection is 4 MiB: bytes of reset streams must be given back too.
    Http2Pair t{[](const GrpcCall& call) {
                  return call.path == "/large" ? saying_grpc(std::string(2u << 20, 'x'))
                                               : saying_grpc("ok");
                },
                1u << 20};
    for (int i = 0; i < 10; ++i) CHECK(t.post("/large").error().code == Errc::kRange);
    const auto next = t.post();
    REQUIRE(next.has_value());
    CHECK(t.server.accepted() == 1);
  }

  TEST_CASE("a request larger than the peer's window arrives whole") {
    Http2Pair t{
        [](const GrpcCall& call) { return saying_grpc(std::to_string(call.message.size())); }};
    const auto out =
        run(t.io, t.client->post(Http2Pair::to("/a", std::string((4u << 20) + 5, 'x'))));
    REQUIRE(out.has_value());
    CHECK(out->body == "4194304");
  }

  TEST_CASE("frames that come byte by byte") {
    Http2Pair t{always(saying_grpc(std::string(300, 'x')))};
    t.server.set_split(true);
    const auto out = t.post();
    REQUIRE(out.has_value());
    CHECK(out->body == std::string(300, 'x'));
    CHECK(find_header(out->trailers, "grpc-status") != nullptr);
  }

  TEST_CASE("a block of status 103 before the answer is passed over") {
    auto answer = saying_grpc("ok");
    answer.hints = true;
    Http2Pair t{always(answer)};
    const auto out = t.post();
    REQUIRE(out.has_value());
    CHECK(out->status == 200);
    CHECK(find_header(out->headers, "link") == nullptr);
    CHECK(find_header(out->headers, "grpc-status") == nullptr);
    CHECK(find_header(out->trailers, "grpc-status") != nullptr);
  }

  TEST_CASE("a PING is answered") {
    Http2Pair t{always(saying_grpc("ok"))};
    REQUIRE(t.post().has_value());
    t.server.ping();
    CHECK(t.until([&] { return t.server.pongs() == 1; }));
  }

  TEST_CASE("a timeout of its own") {
    Http2Pair t{always(saying_grpc("", GrpcFault::kSilent))};
    const auto out = t.post("/a", milliseconds{20});
    REQUIRE(out.has_error());
    CHECK(out.error().code == Errc::kBusy);
  }

  TEST_CASE("no socket, nobody listens, no path: each says so") {
    boost::asio::io_context io;
    const FakeTree tree{{"file", ""}};
    const auto code = [&](const std::string& path) {
      net::Http2Client client{io.get_executor(), {path}};
      const auto out = run(io, client.post(Http2Pair::to("/a")));
      REQUIRE(out.has_error());
      CHECK(out.error().context.find(path.substr(0, 100)) != std::string::npos);
      return out.error().code;
    };
    CHECK(code(tree.path("absent")) == Errc::kNotFound);
    CHECK(code(tree.path("no/folder")) == Errc::kNotFound);
    CHECK(code(tree.path("file")) == Errc::kBusy);
    CHECK(code("") == Errc::kRange);
    CHECK(code(std::string(108, 'x')) == Errc::kRange);
    CHECK(code(tree.path(std::string(200, 'x'))) == Errc::kRange);
  }
}

}  // namespace koordlet::test
