#include <doctest/doctest.h>

#include "http2_fixture.hpp"
#include "support/unix_peer.hpp"

namespace koordlet::test {
namespace {

using namespace std::string_literals;

constexpr std::uint32_t kCancel = 8;  // RFC 9113, section 7
constexpr auto kShort = Http2Pair::kShort;

bool says(const Error& error, std::string_view what) {
  return error.context.find(what) != std::string::npos;
}

/// One frame: 3 bytes of length, type, flags, 4 bytes of stream id, payload. `length` differs from
/// the payload's own only for a broken peer.
std::string frame(char type, char flags, char stream, const std::string& payload, int length = -1) {
  const auto n = length < 0 ? static_cast<int>(payload.size()) : length;
  std::string out;
  for (const int shift : {16, 8, 0}) out += static_cast<char>(n >> shift & 0xff);
  out += type;
  out += flags;
  out += "\0\0\0"s;
  out += stream;
  return out + payload;
}

GrpcAnswer raw(std::string bytes) { return saying_grpc(std::move(bytes), GrpcFault::kRaw); }

}  // namespace

TEST_SUITE("http2_client/faults") {
  TEST_CASE("the peer closes at once: one more connection, then kBusy; three quick closes") {
    Http2Pair t{always(saying_grpc("ok"))};
    t.server.close_next(3);
    const auto out = t.post();
    REQUIRE(out.has_error());
    CHECK(out.error().code == Errc::kBusy);
    CHECK(t.server.accepted() == 2);
    REQUIRE(t.post().has_value());
    CHECK(t.server.accepted() == 4);
    CHECK(t.server.connections() == 1);
  }

  TEST_CASE("a connection that died unseen is made anew and the call goes again") {
    Http2Pair t{always(saying_grpc("ok"))};
    REQUIRE(t.post().has_value());
    t.server.drop_connections();  // the client's loop has not run since
    const auto out = t.post();
    REQUIRE(out.has_value());
    CHECK(out->body == "ok");
    CHECK(t.server.accepted() == 2);
    CHECK(t.client->connections() == 2);
  }

  TEST_CASE("a connection that died between two calls is not used again") {
    Http2Pair t{always(saying_grpc("ok"))};
    REQUIRE(t.post().has_value());
    t.server.drop_connections();
    run_until(t.io, [n = 0]() mutable { return ++n > 5; });
    REQUIRE(t.post().has_value());
    CHECK(t.server.calls().size() == 2);
    CHECK(t.server.accepted() == 2);
  }

  TEST_CASE("the peer dies over a call: asked once more, and only once") {
    Http2Pair first{once(saying_grpc("", GrpcFault::kClose))};
    REQUIRE(first.post().has_value());
    CHECK(first.server.calls().size() == 2);

    Http2Pair each{always(saying_grpc("", GrpcFault::kClose))};
    const auto out = each.post();
    REQUIRE(out.has_error());
    CHECK(out.error().code == Errc::kBusy);
    CHECK(says(out.error(), "the peer closed"));
    CHECK(each.server.calls().size() == 2);
  }

  TEST_CASE("an answer that ends half way is not asked for again") {
    Http2Pair t{always(saying_grpc(std::string(1000, 'x'), GrpcFault::kCloseHalfWay))};
    const auto out = t.post();
    REQUIRE(out.has_error());
    CHECK(out.error().code == Errc::kBusy);
    CHECK(t.server.calls().size() == 1);
  }

  TEST_CASE("RST_STREAM before and within an answer: kBusy, not sent again, the connection stays") {
    for (const auto fault : {GrpcFault::kReset, GrpcFault::kResetHalfWay}) {
      Http2Pair t{once(saying_grpc(std::string(1000, 'x'), fault))};
      const auto out = t.post();
      REQUIRE(out.has_error());
      CHECK(out.error().code == Errc::kBusy);
      CHECK(says(out.error(), "INTERNAL_ERROR"));
      CHECK(t.server.calls().size() == 1);
      REQUIRE(t.post().has_value());
      CHECK(t.server.accepted() == 1);
    }
  }

  TEST_CASE("a call that the peer refused unprocessed is sent once more") {
    Http2Pair t{once(saying_grpc("", GrpcFault::kRefuse))};
    REQUIRE(t.post().has_value());
    CHECK(t.server.calls().size() == 2);
    CHECK(t.server.accepted() == 1);

    Http2Pair each{always(saying_grpc("", GrpcFault::kRefuse))};
    CHECK(each.post().error().code == Errc::kBusy);
    CHECK(each.server.calls().size() == 2);
  }

  TEST_CASE("GOAWAY mid-call: the call finishes, the next one opens a new connection") {
    Http2Pair t{once(saying_grpc(std::string(100'000, 'x'), GrpcFault::kGoAway))};
    const auto out = t.post();
    REQUIRE(out.has_value());
    CHECK(out->body.size() == 100'000);
    REQUIRE(t.post().has_value());
    CHECK(t.server.accepted() == 2);
    CHECK(t.until([&] { return t.server.connections() == 1; }));
  }

  TEST_CASE("GOAWAY: calls below its last stream finish while new ones run elsewhere") {
    Http2Pair t{[](const GrpcCall& call) {
      auto out = saying_grpc(call.path);
      out.held = call.path == "/slow";
      if (call.path == "/leave") out.fault = GrpcFault::kGoAway;
      return out;
    }};
    const auto slow = t.start("/slow");
    REQUIRE(t.until([&] { return t.server.streams() == 1; }));
    REQUIRE(t.post("/leave").has_value());
    REQUIRE(t.post("/new").has_value());
    CHECK(t.server.calls().back().connection == 2);
    CHECK_FALSE(slow->done());
    t.server.release();
    REQUIRE(t.until([&] { return slow->done(); }));
    REQUIRE(slow->out().has_value());
    CHECK(slow->out()->body == "/slow");
    CHECK(t.until([&] { return t.server.connections() == 1; }));
  }

  TEST_CASE("GOAWAY below a call: it goes again on a new connection") {
    Http2Pair t{once(saying_grpc("", GrpcFault::kGoAwayBefore))};
    const auto out = t.post();
    REQUIRE(out.has_value());
    CHECK(out->body == "ok");
    REQUIRE(t.server.calls().size() == 2);
    CHECK(t.server.calls()[0].connection == 1);
    CHECK(t.server.calls()[1].connection == 2);
  }

  TEST_CASE("a peer that never answers: kBusy in time, the stream is reset, the connection stays") {
    Http2Pair t{once(saying_grpc("", GrpcFault::kSilent))};
    const auto out = t.post("/a", kShort);
    REQUIRE(out.has_error());
    CHECK(out.error().code == Errc::kBusy);
    CHECK(says(out.error(), "no answer in time"));
    CHECK(t.server.calls().size() == 1);
    CHECK(t.until([&] { return t.server.streams() == 0; }));
    CHECK(t.server.resets() == std::vector{kCancel});
    REQUIRE(t.post().has_value());
    CHECK(t.server.accepted() == 1);
  }

  TEST_CASE("a peer that says not even its settings is given up after a call") {
    Http2Pair t{always(saying_grpc("ok"))};
    t.server.set_mute(true);
    CHECK(t.post("/a", kShort).error().code == Errc::kBusy);
    t.server.set_mute(false);
    REQUIRE(t.post().has_value());
    CHECK(t.server.accepted() == 2);
  }

  TEST_CASE("a peer that lets no stream through is given up after a call") {
    Http2Pair t{always(saying_grpc("ok"))};
    t.server.set_max_streams(0);
    // It leaves before the peer's settings are here, is refused, and then waits for its turn.
    CHECK(t.post("/a", kShort).error().code == Errc::kBusy);
    t.server.set_max_streams(100);
    REQUIRE(t.post().has_value());
    CHECK(t.server.accepted() == 2);
    CHECK(t.until([&] { return t.server.connections() == 1; }));
  }

  TEST_CASE("a call that is cancelled leaves no stream behind, and the connection as it was") {
    Http2Pair t{once(saying_grpc("", GrpcFault::kSilent))};
    const auto call = t.start();
    REQUIRE(t.until([&] { return t.server.streams() == 1; }));
    call->cancel();
    REQUIRE(t.until([&] { return call->done(); }));
    REQUIRE(call->out().has_error());
    CHECK(call->out().error().code == Errc::kIo);
    CHECK(says(call->out().error(), "cancelled"));
    CHECK(t.until([&] { return t.server.streams() == 0; }));
    CHECK(t.server.resets() == std::vector{kCancel});
    REQUIRE(t.post().has_value());
    CHECK(t.server.accepted() == 1);
  }

  TEST_CASE("a call that is cancelled before it could leave is never seen by the peer") {
    Http2Pair t{[](const GrpcCall& call) {
      auto out = saying_grpc(call.path);
      out.held = call.path == "/slow";
      return out;
    }};
    t.server.set_max_streams(1);
    REQUIRE(t.post("/first").has_value());  // the peer's settings are here
    const auto slow = t.start("/slow"), queued = t.start("/queued");
    REQUIRE(t.until([&] { return t.server.streams() == 1; }));
    queued->cancel();
    REQUIRE(t.until([&] { return queued->done(); }));
    CHECK(queued->out().error().code == Errc::kIo);
    t.server.release();
    REQUIRE(t.until([&] { return slow->done(); }));
    REQUIRE(slow->out().has_value());
    REQUIRE(t.post("/last").has_value());
    for (const auto& call : t.server.calls()) CHECK(call.path != "/queued");
    CHECK(t.server.accepted() == 1);
  }

  TEST_CASE("calls end with kIo when the client goes, on a draining connection too") {
    Http2Pair t{[](const GrpcCall& call) {
      if (call.path == "/leave") return saying_grpc("", GrpcFault::kGoAway);
      return saying_grpc("", GrpcFault::kSilent);
    }};
    const auto old = t.start("/old");
    REQUIRE(t.until([&] { return t.server.streams() == 1; }));
    REQUIRE(t.post("/leave").has_value());
    const auto young = t.start("/young");
    REQUIRE(t.until([&] { return t.server.calls().size() == 3; }));
    t.client.reset();
    REQUIRE(t.until([&] { return old->done() && young->done(); }));
    for (auto* call : {old.get(), young.get()}) {
      REQUIRE(call->out().has_error());
      CHECK(call->out().error().code == Errc::kIo);
      CHECK(says(call->out().error(), "the client ended"));
    }
    CHECK(t.until([&] { return t.server.connections() == 0; }));
  }

  TEST_CASE("the loop ends under a call") {
    Http2Pair t{always(saying_grpc("", GrpcFault::kSilent))};
    const auto call = t.start();
    REQUIRE(t.until([&] { return t.server.streams() == 1; }));
    CHECK_FALSE(call->done());  // the rest is for the sanitizers
  }

  TEST_CASE("a runtime that is away for a while is found again") {
    Http2Pair t{always(saying_grpc("ok"))};
    REQUIRE(t.post().has_value());
    t.server.stop_listening();
    t.server.drop_connections();
    for (int i = 0; i < 3; ++i) CHECK(t.post().error().code == Errc::kBusy);
    t.server.listen_again();
    REQUIRE(t.post().has_value());
    CHECK(t.server.accepted() == 2);
  }

  TEST_CASE("frames against the rules are kParse; the peer is told, the next call starts anew") {
    const struct {
      const char* name;
      std::string bytes;
      std::uint32_t code;  // RFC 9113, section 7: PROTOCOL 1, FRAME_SIZE 6, COMPRESSION 9
    } kCases[] = {
        {"a frame above 16384 bytes", frame(0, 0, 1, std::string(16385, 'x')), 6},
        {"a frame that claims 16 MiB", frame(0, 0, 1, "x", 0xffffff), 6},
        {"SETTINGS of 5 bytes", frame(4, 0, 0, "xxxxx"), 6},
        {"WINDOW_UPDATE of 3 bytes", frame(8, 0, 0, "xxx"), 6},
        {"WINDOW_UPDATE by 0", frame(8, 0, 0, "\0\0\0\0"s), 1},
        {"RST_STREAM of 5 bytes", frame(3, 0, 1, "xxxxx"), 6},
        {"PING of 7 bytes", frame(6, 0, 0, "xxxxxxx"), 6},
        {"DATA on stream 0", frame(0, 0, 0, "x"), 1},
        {"SETTINGS on stream 1", frame(4, 0, 1, ""), 1},
        {"PUSH_PROMISE, which was refused", frame(5, 4, 1, "\0\0\0\2\x82"s), 1},
        {"CONTINUATION of nothing", frame(9, 4, 1, "x"), 1},
        {"headers of no HPACK", frame(1, 4, 1, "\xff\xff\xff\xff\xff\xff\xff"), 9},
    };
    for (const auto& c : kCases) {
      CAPTURE(c.name);
      Http2Pair t{once(raw(c.bytes))};
      const auto out = t.post();
      REQUIRE(out.has_error());
      CHECK(out.error().code == Errc::kParse);
      CHECK(says(out.error(), "not HTTP/2"));
      CHECK(t.until([&] { return !t.server.goaways().empty(); }));
      CHECK(t.server.goaways()[0] == c.code);
      REQUIRE(t.post().has_value());
      CHECK(t.server.accepted() == 2);
      CHECK(t.server.calls().size() == 2);
    }
  }

  TEST_CASE("a frame of an unknown type is passed over") {
    Http2Pair t{[](const GrpcCall& call) {
      return call.path == "/odd" ? raw(frame(0x7a, 0, 0, "whatever")) : saying_grpc("ok");
    }};
    CHECK(t.post("/odd", kShort).error().code == Errc::kBusy);
    REQUIRE(t.post().has_value());
    CHECK(t.server.accepted() == 1);
  }

  TEST_CASE("an answer against the rules costs its stream only") {
    GrpcAnswer longer = saying_grpc("four");
    longer.headers = {{"content-length", "3"}};
    Http2Pair t{once(longer)};
    const auto out = t.post();
    REQUIRE(out.has_error());
    CHECK(out.error().code == Errc::kParse);
    CHECK(t.server.calls().size() == 1);
    REQUIRE(t.post().has_value());
    CHECK(t.server.accepted() == 1);
  }

  TEST_CASE("more than 64 KiB of headers is kRange, in one block or in several") {
    GrpcAnswer one = saying_grpc("x"), several = saying_grpc("x");
    one.headers = {{"x-a", std::string(60'000, 'a')}, {"x-b", std::string(6'000, 'b')}};
    several.headers = {{"x-a", std::string(60'000, 'a')}};
    several.words = std::string(6'000, 'b');
    for (const auto& answer : {one, several}) {
      Http2Pair t{once(answer)};
      const auto out = t.post();
      REQUIRE(out.has_error());
      CHECK(out.error().code == Errc::kRange);
      REQUIRE(t.post().has_value());
      CHECK(t.server.accepted() == 1);
    }
  }

  TEST_CASE("a peer that speaks something else") {
    for (const auto& text : {"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"s,
                             "SSH-2.0-OpenSSH_9.2\r\n"s,
                             "\x15\x03\x01\x00\x02\x02\x0a and more of it"s}) {
      CAPTURE(text);
      const FakeTree tree;
      boost::asio::io_context io;
      const UnixPeer peer{io.get_executor(), tree.path("s"), text, UnixPeer::Then::kKeep};
      net::Http2Client client{io.get_executor(), {tree.path("s")}};
      const auto out = run(io, client.post(Http2Pair::to("/a")));
      REQUIRE(out.has_error());
      CHECK(out.error().code == Errc::kParse);
      CHECK(peer.accepted() == 1);
    }
  }
}

}  // namespace koordlet::test
