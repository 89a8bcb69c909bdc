#include "net/ttrpc_peer.hpp"

#include <boost/asio/local/connect_pair.hpp>
#include <doctest/doctest.h>

#include "client_fixture.hpp"
#include "support/hex.hpp"
#include "support/raw_ttrpc.hpp"

namespace koordlet::test {
namespace {

using namespace std::chrono_literals;
using net::TtrpcPeer;
using net::TtrpcRequest;
using net::TtrpcResponse;

/// A TtrpcPeer and the other end. The handler's method "echo" answers its payload.
struct PeerPair {
  using Outcome = Result<std::string>;

  explicit PeerPair(RawTtrpc::OnRequest on_request = {}, std::size_t max_unsent = 16u << 20) {
    RawTtrpc::Socket ours{io}, theirs{io};
    boost::asio::local::connect_pair(ours, theirs);
    raw = std::make_shared<RawTtrpc>(std::move(theirs), std::move(on_request));
    peer = std::make_unique<TtrpcPeer>(
        std::move(ours),
        TtrpcPeer::Options{"sock", 1, 2, max_unsent},
        [this](const TtrpcRequest& request) { return answer(request); },
        [this](const Error& why) { closed.push_back(why); });
  }
  ~PeerPair() {
    raw->close();
    peer.reset();
    io.restart();
    io.run_for(1ms);
  }
  TtrpcResponse answer(const TtrpcRequest& request) {
    seen.push_back(request);
    if (request.method == "throw") throw std::runtime_error{"broken hook"};
    if (request.method == "throw_int") throw 7;
    if (request.method == "leave") peer->close_when_sent({Errc::kIo, "leaving"});
    if (request.method == "large") return {0, {}, std::string(10'000, 'x')};
    return {0, {}, request.payload};
  }
  static TtrpcRequest to(std::string method, std::chrono::milliseconds timeout = 10s) {
    return {"svc", std::move(method), "payload", timeout};
  }
  std::unique_ptr<Started<Outcome>> start(const TtrpcRequest& request) {
    return std::make_unique<Started<Outcome>>(io, peer->call(request));
  }
  Outcome call(const TtrpcRequest& request) { return run(io, peer->call(request)); }
  bool until(const std::function<bool()>& done) { return run_until(io, done); }
  const TtrpcResponse& answered(std::uint32_t stream) {
    static const TtrpcResponse kNone{-1, "no answer", {}};
    until([&] { return raw->answer(stream) != nullptr; });
    const auto* out = raw->answer(stream);
    return out != nullptr ? *out : kNone;
  }

  boost::asio::io_context io;
  std::vector<TtrpcRequest> seen;
  std::vector<Error> closed;
  std::shared_ptr<RawTtrpc> raw;
  std::unique_ptr<TtrpcPeer> peer;
};

RawTtrpc::OnRequest always(TtrpcResponse response) {
  return [response](RawTtrpc& raw, std::uint32_t stream, const TtrpcRequest&) {
    raw.respond(stream, response);
  };
}

}  // namespace

TEST_SUITE("ttrpc_peer/calls") {
  TEST_CASE("a call is answered; streams are numbered 1, 3, 5") {
    std::vector<std::uint32_t> streams;
    PeerPair t{[&](RawTtrpc& raw, std::uint32_t stream, const TtrpcRequest& request) {
      streams.push_back(stream);
      CHECK(request.service == "svc");
      CHECK(request.timeout == 10s);
      raw.respond(stream, {0, {}, "answer"});
    }};
    t.raw->start();
    for (int i = 0; i < 3; ++i) CHECK(t.call(PeerPair::to("m")).value() == "answer");
    CHECK(streams == std::vector<std::uint32_t>{1, 3, 5});
  }

  TEST_CASE("calls overlap and are answered in any order") {
    std::map<std::string, std::uint32_t> streams;
    PeerPair t{[&](RawTtrpc&, std::uint32_t stream, const TtrpcRequest& request) {
      streams[request.method] = stream;
    }};
    t.raw->start();
    const auto a = t.start(PeerPair::to("a"));
    const auto b = t.start(PeerPair::to("b"));
    REQUIRE(t.until([&] { return streams.size() == 2; }));
    t.raw->respond(streams["b"], {0, {}, "B"});
    REQUIRE(t.until([&] { return b->done(); }));
    CHECK_FALSE(a->done());
    t.raw->respond(streams["a"], {0, {}, "A"});
    REQUIRE(t.until([&] { return a->done(); }));
    CHECK(a->out().value() == "A");
    CHECK(b->out().value() == "B");
  }

  TEST_CASE("a status is an error that names socket and method") {
    PeerPair t{always({12, "no such method", {}})};
    t.raw->start();
    const auto out = t.call(PeerPair::to("m"));
    REQUIRE(out.has_error());
    CHECK(out.error().code == Errc::kNotSupported);
    CHECK(out.error().context == "sock: svc/m: status 12: no such method");
  }

  TEST_CASE("a silent peer: the call's time runs out, its late answer is dropped") {
    std::vector<std::uint32_t> streams;
    PeerPair t{
        [&](RawTtrpc&, std::uint32_t stream, const TtrpcRequest&) { streams.push_back(stream); }};
    t.raw->start();
    const auto out = t.call(PeerPair::to("m", 5ms));
    REQUIRE(out.has_error());
    CHECK(out.error().code == Errc::kBusy);
    CHECK(out.error().context == "sock: svc/m: no answer in time");
    REQUIRE(t.until([&] { return !streams.empty(); }));
    t.raw->respond(streams[0], {0, {}, "late"});
    const auto next = t.start(PeerPair::to("n"));
    REQUIRE(t.until([&] { return streams.size() == 2; }));
    t.raw->respond(streams[1], {0, {}, "on time"});
    REQUIRE(t.until([&] { return next->done(); }));
    CHECK(next->out().value() == "on time");
  }

  TEST_CASE("a cancelled call ends at once") {
    PeerPair t;
    t.raw->start();
    const auto call = t.start(PeerPair::to("m"));
    t.until([n = 0]() mutable { return ++n > 3; });
    call->cancel();
    REQUIRE(t.until([&] { return call->done(); }));
    CHECK(call->out().error().code == Errc::kIo);
    CHECK(call->out().error().context == "sock: svc/m: cancelled");
  }

  TEST_CASE("an answer that is no message, and one above 4 MiB; the stream goes on") {
    int count = 0;
    PeerPair t{[&](RawTtrpc& raw, std::uint32_t stream, const TtrpcRequest&) {
      const auto body = ++count == 1 ? std::string{"\x12\x7f"}
                        : count == 2 ? std::string(4'194'305, 'x')
                                     : std::string{"\x12\x02ok"};
      std::string wire;
      net::append_mux_frames(wire, 2, net::ttrpc_bytes(net::TtrpcType::kResponse, stream, body));
      raw.say(wire);
    }};
    t.raw->start();
    CHECK(t.call(PeerPair::to("m")).error().code == Errc::kParse);
    CHECK(t.call(PeerPair::to("m")).error().code == Errc::kRange);
    CHECK(t.call(PeerPair::to("m")).value() == "ok");
  }

  TEST_CASE("a request above 4 MiB is not sent") {
    PeerPair t;
    auto request = PeerPair::to("m");
    request.payload = std::string(4'194'304, 'x');
    CHECK(t.call(request).error().code == Errc::kRange);
  }

  TEST_CASE("the peer closes in the middle of calls: all end, and later ones too") {
    PeerPair t{[](RawTtrpc& raw, std::uint32_t, const TtrpcRequest& request) {
      if (request.method == "b") raw.close();
    }};
    t.raw->start();
    const auto a = t.start(PeerPair::to("a"));
    const auto b = t.start(PeerPair::to("b"));
    REQUIRE(t.until([&] { return a->done() && b->done(); }));
    CHECK(a->out().error().code == Errc::kBusy);
    CHECK(a->out().error().context.find("sock: the peer closed: ") == 0);
    CHECK(t.call(PeerPair::to("c")).error().code == Errc::kBusy);
    CHECK(t.closed.size() == 1);
  }

  TEST_CASE("the object goes while a call runs") {
    PeerPair t;
    t.raw->start();
    const auto call = t.start(PeerPair::to("m"));
    t.until([n = 0]() mutable { return ++n > 3; });
    t.peer.reset();
    REQUIRE(t.until([&] { return call->done() && !t.raw->is_open(); }));
    CHECK(call->out().error().code == Errc::kIo);
    CHECK(t.closed.empty());
  }
}

TEST_SUITE("ttrpc_peer/server") {
  TEST_CASE("requests are answered on their streams, in frames that the peer takes") {
    PeerPair t;
    t.raw->start();
    const auto echo = t.raw->ask({"svc", "echo", "abc", {}});
    const auto large = t.raw->ask({"svc", "large", "", {}});
    CHECK(t.answered(echo) == TtrpcResponse{0, {}, "abc"});
    CHECK(t.answered(large).payload.size() == 10'000);
    CHECK(t.raw->longest_frame() == 4096);
  }

  TEST_CASE("a request before the answer to our first call is served") {
    PeerPair t{[](RawTtrpc& raw, std::uint32_t, const TtrpcRequest&) {
      raw.ask({"svc", "echo", "early", {}});
    }};
    t.raw->start();
    const auto call = t.start(PeerPair::to("m"));
    CHECK(t.answered(1).payload == "early");
    CHECK_FALSE(call->done());
  }

  TEST_CASE("what a handler throws is status 13; the stream stays") {
    PeerPair t;
    t.raw->start();
    CHECK(t.answered(t.raw->ask({"svc", "throw", "", {}})) == TtrpcResponse{13, "broken hook", {}});
    CHECK(t.answered(t.raw->ask({"svc", "throw_int", "", {}})).status == 13);
    CHECK(t.answered(t.raw->ask({"svc", "echo", "x", {}})).status == 0);
  }

  TEST_CASE("seed: even and used stream numbers are status 3, without a handler") {
    PeerPair t;
    t.raw->start();
    t.raw->ask(2, {"svc", "echo", "", {}});
    CHECK(t.answered(2).status == 3);
    t.raw->ask(5, {"svc", "echo", "", {}});
    CHECK(t.answered(5).status == 0);
    t.raw->ask(3, {"svc", "echo", "", {}});
    CHECK(t.answered(3).status == 3);
    t.raw->ask(7, {"svc", "echo", "", {}});
    CHECK(t.answered(7).status == 0);
    CHECK(t.seen.size() == 2);
  }

  TEST_CASE("a request that is no message is status 3, one above 4 MiB status 8") {
    PeerPair t;
    t.raw->start();
    std::string wire;
    net::append_mux_frames(wire, 1, net::ttrpc_bytes(net::TtrpcType::kRequest, 1, "\x0a\x7f"));
    net::append_mux_frames(
        wire, 1, net::ttrpc_bytes(net::TtrpcType::kRequest, 3, std::string(4'194'305, 'x')));
    t.raw->say(wire);
    CHECK(t.answered(1).status == 3);
    CHECK(t.answered(3).status == 8);
    t.raw->ask(5, {"svc", "echo", "x", {}});
    CHECK(t.answered(5).status == 0);
  }

  TEST_CASE("messages of other types and connections are nothing") {
    PeerPair t;
    t.raw->start();
    auto odd = net::ttrpc_bytes(net::TtrpcType::kRequest, 1, "abc");
    odd[8] = 9;
    std::string wire;
    net::append_mux_frames(wire, 1, odd);
    net::append_mux_frames(wire, 7, "garbage");
    net::append_mux_frames(wire, 0, "garbage");
    net::append_mux_frames(wire, 1, net::ttrpc_bytes(net::TtrpcType::kResponse, 1, ""));
    net::append_mux_frames(wire, 2, net::ttrpc_bytes(net::TtrpcType::kRequest, 1, ""));
    t.raw->say(wire);
    CHECK(t.answered(t.raw->ask({"svc", "echo", "x", {}})).payload == "x");
    CHECK(t.seen.size() == 1);
  }

  TEST_CASE("an answer that comes later, and one that comes when nobody waits for it") {
    boost::asio::io_context io;
    RawTtrpc::Socket ours{io}, theirs{io};
    boost::asio::local::connect_pair(ours, theirs);
    const auto raw = std::make_shared<RawTtrpc>(std::move(theirs));
    raw->start();
    std::vector<TtrpcPeer::Reply> replies;
    auto peer = std::make_unique<TtrpcPeer>(
        std::move(ours),
        TtrpcPeer::Options{"sock", 1, 2, 1u << 20},
        [&](const TtrpcRequest&, TtrpcPeer::Reply reply) { replies.push_back(std::move(reply)); },
        [](const Error&) {});
    const auto first = raw->ask({"svc", "a", "", {}});
    const auto second = raw->ask({"svc", "b", "", {}});
    REQUIRE(run_until(io, [&] { return replies.size() == 2; }));
    replies[1]({0, {}, "second"});
    REQUIRE(run_until(io, [&] { return raw->answer(second) != nullptr; }));
    CHECK(raw->answer(second)->payload == "second");
    CHECK(raw->answer(first) == nullptr);
    peer.reset();
    replies[0]({0, {}, "nobody"});
    REQUIRE(run_until(io, [&] { return !raw->is_open(); }));
    CHECK(raw->answer(first) == nullptr);
  }

  TEST_CASE("ask() gives the status beside the payload") {
    PeerPair t{always({9, "not now", {}})};
    t.raw->start();
    const auto out = run(t.io, t.peer->ask(PeerPair::to("x")));
    REQUIRE(out.has_value());
    CHECK(*out == TtrpcResponse{9, "not now", {}});
  }

  TEST_CASE("a frame above the limit ends the stream with one line") {
    PeerPair t;
    t.raw->start();
    t.raw->say(from_hex("00 00 00 01 7f ff ff ff"));
    REQUIRE(t.until([&] { return !t.closed.empty(); }));
    CHECK(t.closed[0].code == Errc::kRange);
    CHECK(t.closed[0].context.find("sock: frame of connection 1: expected at most") == 0);
    CHECK(t.until([&] { return !t.raw->is_open(); }));
  }

  TEST_CASE("an answer goes out before the stream is closed on purpose") {
    PeerPair t;
    t.raw->start();
    const auto last = t.raw->ask({"svc", "leave", "bye", {}});
    CHECK(t.answered(last).payload == "bye");
    REQUIRE(t.until([&] { return !t.raw->is_open(); }));
    REQUIRE(t.closed.size() == 1);
    CHECK(t.closed[0].context == "leaving");
  }

  TEST_CASE("a peer that asks and never reads is given up before the memory grows") {
    PeerPair t{{}, 64 * 1024};
    for (int i = 0; i < 100; ++i) t.raw->ask({"svc", "large", "", {}});
    REQUIRE(t.until([&] { return !t.closed.empty(); }));
    CHECK(t.closed[0].code == Errc::kBusy);
    CHECK(t.closed[0].context.find("sock: the peer does not read: ") == 0);
  }
}

}  // namespace koordlet::test
