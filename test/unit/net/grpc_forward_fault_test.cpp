#include <doctest/doctest.h>

#include "forward_rig.hpp"
#include "support/manual_clock.hpp"

namespace koordlet::test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kInternal = 2, kRefused = 7, kCancel = 8;  // RFC 9113, section 7

/// A client's stream to the proxy, and the runtime's end of it.
struct OneCall {
  explicit OneCall(net::Http2Headers headers = {})
      : runtime{t.io, t.runtime_path()}, client{t.io, t.proxy_path()} {
    asked = client.open("/a/B", std::move(headers));
    asked->send(grpc_message("question"));
    arrived = t.until([&] { return !runtime.streams.empty(); });
    if (arrived) served = runtime.streams[0];
  }
  ProxyRig t;
  OpenServer runtime;
  OpenClient client;
  LogPtr asked, served;
  bool arrived = false;
};

}  // namespace

TEST_SUITE("grpc_forward faults") {
  TEST_CASE("no runtime: UNAVAILABLE at once, with the socket's name") {
    ProxyRig t;
    const auto out = t.post("/a/B", "x");
    REQUIRE(out.has_value());
    CHECK(out->status == 200);
    CHECK(status_of(*out) == "14");
    CHECK(net::find_header(out->headers, "grpc-message")->find(t.runtime_path()) !=
          std::string::npos);
    CHECK(t.forward.counters().unavailable == 1);
  }

  TEST_CASE("the runtime is gone for 30 s and back: UNAVAILABLE meanwhile, then calls again") {
    ProxyRig t;
    ManualClock clock;
    const auto answer = always(saying_grpc(grpc_message("ok")));
    auto runtime = std::make_unique<FakeCriServer>(t.io.get_executor(), t.runtime_path(), answer);
    int connections = 0;
    t.upstream.on_connection([&] { ++connections; });
    CHECK(status_of(*t.post("/a/B", "x")) == "0");
    runtime.reset();
    REQUIRE(t.until([&] { return t.upstream.streams() == 0; }));
    for (int second = 0; second < 30; ++second) {
      CHECK(status_of(*t.post("/a/B", "x")) == "14");
      clock.advance(1s);
    }
    runtime = std::make_unique<FakeCriServer>(t.io.get_executor(), t.runtime_path(), answer);
    CHECK(status_of(*t.post("/a/B", "x")) == "0");
    CHECK(runtime->calls().size() == 1);
    CHECK(connections == 2);
    CHECK(t.forward.counters().unavailable == 30);
  }

  TEST_CASE("a call that was sent when the runtime died is UNAVAILABLE and is not sent again") {
    ProxyRig t;
    FakeCriServer runtime{t.io.get_executor(),
                          t.runtime_path(),
                          once(saying_grpc(grpc_message(""), GrpcFault::kClose))};
    CHECK(status_of(*t.post("/a/B", "x")) == "14");
    CHECK(runtime.calls().size() == 1);
    CHECK(status_of(*t.post("/a/B", "x")) == "0");
    CHECK(runtime.calls().size() == 2);
    CHECK(runtime.accepted() == 2);
  }

  TEST_CASE("the runtime dies in the middle of an answer: what came, then UNAVAILABLE") {
    ProxyRig t;
    FakeCriServer runtime{t.io.get_executor(),
                          t.runtime_path(),
                          once(saying_grpc(grpc_message("0123456789"), GrpcFault::kCloseHalfWay))};
    const auto out = t.post("/a/B", "x");
    REQUIRE(out.has_value());
    CHECK(grpc_message("0123456789").starts_with(out->body));
    CHECK(status_of(*out) == "14");
  }

  TEST_CASE("GOAWAY that counts the call: its answer arrives, the next call has a new connection") {
    ProxyRig t;
    FakeCriServer runtime{t.io.get_executor(),
                          t.runtime_path(),
                          once(saying_grpc(grpc_message("last"), GrpcFault::kGoAway))};
    const auto out = t.post("/a/B", "x");
    REQUIRE(out.has_value());
    CHECK(out->body == grpc_message("last"));
    CHECK(t.post("/a/B", "x").has_value());
    CHECK(runtime.accepted() == 2);
  }

  TEST_CASE("GOAWAY that does not count the call: the caller is told REFUSED, and may repeat") {
    ProxyRig t;
    OpenClient client{t.io, t.proxy_path()};
    FakeCriServer runtime{
        t.io.get_executor(), t.runtime_path(), once(saying_grpc("", GrpcFault::kGoAwayBefore))};
    const auto asked = client.open("/a/B");
    asked->finish();
    REQUIRE(t.until([&] { return asked->stream->is_over(); }));
    CHECK(asked->stream->reset_code() == kRefused);
    CHECK(status_of(*t.post("/a/B", "x")) == "0");
  }

  TEST_CASE("the runtime's RST_STREAM reaches the caller with its code, mid-call too") {
    for (const auto fault : {GrpcFault::kReset, GrpcFault::kResetHalfWay}) {
      CAPTURE(static_cast<int>(fault));
      ProxyRig t;
      OpenClient client{t.io, t.proxy_path()};
      FakeCriServer runtime{
          t.io.get_executor(), t.runtime_path(), once(saying_grpc(grpc_message("0123"), fault))};
      const auto asked = client.open("/a/B");
      asked->finish();
      REQUIRE(t.until([&] { return asked->stream->is_over(); }));
      CHECK(asked->stream->reset_code() == kInternal);
      CHECK_FALSE(asked->stream->ended());
      CHECK(client.link->is_open());
      CHECK(t.proxy.streams() == 0);
    }
  }

  TEST_CASE("the caller's RST_STREAM cancels the runtime's side") {
    OneCall c;
    REQUIRE(c.arrived);
    c.asked->stream->reset(kCancel);
    REQUIRE(c.t.until([&] { return c.served->stream->is_over(); }));
    CHECK(c.served->stream->reset_code() == kCancel);
    CHECK(c.t.upstream.streams() == 0);
  }

  TEST_CASE("the caller's connection ends: the runtime's side of all its calls is cancelled") {
    OneCall c;
    REQUIRE(c.arrived);
    const auto second = c.client.open("/a/C");
    REQUIRE(c.t.until([&] { return c.runtime.streams.size() == 2; }));
    c.client.link->close();
    REQUIRE(c.t.until([&] { return c.runtime.server.streams() == 0; }));
    CHECK(c.served->stream->reset_code() == kCancel);
    CHECK(c.runtime.streams[1]->stream->reset_code() == kCancel);
  }

  TEST_CASE("a runtime that answers before the request has ended: the answer, then no more of it") {
    OneCall c;
    REQUIRE(c.arrived);
    c.served->stream->respond({{":status", "200"}, {"grpc-status", "8"}}, true);
    REQUIRE(c.t.until([&] { return c.asked->stream->is_over(); }));
    CHECK(c.asked->header("grpc-status") == "8");
    CHECK(c.asked->stream->ended());
    REQUIRE(c.t.until([&] { return c.served->stream->is_over() && c.t.proxy.streams() == 0; }));
  }

  TEST_CASE("grpc-timeout passes: DEADLINE_EXCEEDED for the caller, CANCEL for the runtime") {
    OneCall c{{{"grpc-timeout", "30m"}}};
    REQUIRE(c.arrived);
    CHECK(c.served->header("grpc-timeout") == "30m");
    REQUIRE(c.t.until([&] { return c.asked->stream->ended(); }));
    CHECK(c.asked->header("grpc-status") == "4");
    REQUIRE(c.t.until([&] { return c.served->stream->is_over(); }));
    CHECK(c.served->stream->reset_code() == kCancel);
    CHECK(c.t.forward.counters().late == 1);
  }

  TEST_CASE("grpc-timeout passes in the middle of an answer: the status comes as trailers") {
    OneCall c{{{"grpc-timeout", "50m"}}};
    REQUIRE(c.arrived);
    c.served->stream->respond(kAnswerHead, false);
    c.served->send("part");
    REQUIRE(c.t.until([&] { return c.asked->stream->ended(); }));
    CHECK(c.asked->body == "part");
    CHECK(c.asked->trailer("grpc-status") == "4");
  }

  TEST_CASE("bytes of the runtime that are no frames: UNAVAILABLE, and a new connection next") {
    const std::string short_ping{"\0\0\1\6\0\0\0\0\0x", 10};  // PING has 8 bytes
    ProxyRig t;
    FakeCriServer runtime{
        t.io.get_executor(), t.runtime_path(), once(saying_grpc(short_ping, GrpcFault::kRaw))};
    CHECK(status_of(*t.post("/a/B", "x")) == "14");
    CHECK(status_of(*t.post("/a/B", "x")) == "0");
    CHECK(runtime.accepted() == 2);
  }

  TEST_CASE("a runtime that accepts and says nothing holds up nobody but its callers") {
    ProxyRig t;
    FakeCriServer runtime{
        t.io.get_executor(), t.runtime_path(), always(saying_grpc(grpc_message("ok")))};
    runtime.set_mute(true);
    const auto out = t.post("/a/B", "x", {{"grpc-timeout", "30m"}});
    REQUIRE(out.has_value());
    CHECK(status_of(*out) == "4");
    CHECK(t.proxy.streams() == 0);
  }

  TEST_CASE("graceful end: no new calls, those that run get their answer, the socket goes") {
    FakeTree tree;
    boost::asio::io_context io;
    OpenServer runtime{io, tree.path("r")};
    net::GrpcUpstream upstream{io.get_executor(), tree.path("r")};
    net::GrpcForward forward{io.get_executor(), upstream, nullptr, {}};
    net::Http2Server::Options options;
    options.grace = 10s;
    net::Http2Server proxy{
        io.get_executor(), options, [&](const auto& stream) { forward.take(stream); }};
    proxy.listen_unix(tree.path("p")).value();
    bool ended = false;
    boost::asio::cancellation_signal stop;
    boost::asio::co_spawn(io,
                          proxy.run(),
                          boost::asio::bind_cancellation_slot(
                              stop.slot(), [&](const std::exception_ptr&) { ended = true; }));
    OpenClient client{io, tree.path("p")};
    const auto asked = client.open("/a/B");
    asked->finish();
    const auto watch = client.open("/runtime.v1.RuntimeService/GetContainerEvents");
    watch->finish();
    REQUIRE(run_until(io, [&] { return runtime.streams.size() == 2; }));
    stop.emit(boost::asio::cancellation_type::terminal);
    forward.end_watches();
    REQUIRE(run_until(io, [&] { return watch->stream->is_over(); }));
    CHECK(watch->header("grpc-status") == "14");
    CHECK_FALSE(client.link->is_usable());
    CHECK_FALSE(ended);
    CHECK(net::connect_unix(io.get_executor(), tree.path("p")).has_error());
    runtime.streams[0]->stream->respond({{":status", "200"}, {"grpc-status", "0"}}, true);
    REQUIRE(run_until(io, [&] { return ended; }));
    CHECK(asked->header("grpc-status") == "0");
    CHECK(asked->stream->ended());
  }
}

}  // namespace koordlet::test
