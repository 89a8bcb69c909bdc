#include <doctest/doctest.h>

#include "client_fixture.hpp"
#include "net/http_client.hpp"

namespace koordlet::test {
namespace {

using boost::asio::awaitable;
using std::chrono::milliseconds;

constexpr std::size_t kEvent = 1024;
constexpr std::size_t kEvents = 9 * 1024;  // 9 MiB: over the parser's own default of 8 MiB

awaitable<void> many_events(FakeConnection& c) {
  co_await c.start_chunks();
  const std::string event = std::string(kEvent - 1, 'e') + "\n";
  for (std::size_t i = 0; i < kEvents; ++i) co_await c.write_chunk(event);
  co_await c.end_chunks();
}

awaitable<void> head_then_silence(FakeConnection& c) {
  co_await c.start_chunks();
  co_await c.silence();
}

awaitable<void> one_event_then_silence(FakeConnection& c) {
  co_await c.start_chunks();
  co_await c.write_chunk("one\n");
  co_await c.silence();
}

awaitable<void> two_events(FakeConnection& c, const bool& go_on) {
  FakeAnswer head{200, "", "application/json;stream=watch"};
  co_await c.start_chunks(std::move(head));
  co_await c.write_chunk("one\n");
  while (!go_on) co_await c.wait(milliseconds{1});
  co_await c.write_chunk("two\n");
  co_await c.end_chunks();
}

awaitable<void> one_event_then_cut(FakeConnection& c) {
  co_await c.start_chunks();
  co_await c.write_chunk("one\n");
  co_await c.wait(milliseconds{10});
  c.truncate();
}

awaitable<void> until_closed(FakeConnection& c) {
  co_await c.write_raw("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nhalf ");
  co_await c.wait(milliseconds{10});
  co_await c.write_raw("whole");
  if (c.request().target == "/cut") {
    c.truncate();
  } else {
    co_await c.close();
  }
}

}  // namespace

TEST_SUITE("http_client/stream") {
  TEST_CASE("row 29: a stream of 9 MiB in events of 1 KiB ends without an error") {
    for (const Wire wire : kWires) {
      CAPTURE(static_cast<int>(wire));
      ClientAndServer t{wire, many_events};
      auto stream = t.open().value();
      std::size_t total = 0, longest = 0;
      for (;;) {
        const auto piece = t.read(*stream);
        REQUIRE(piece.has_value());
        if (piece->empty()) break;
        total += piece->size();
        longest = std::max(longest, piece->size());
      }
      CHECK(total == kEvent * kEvents);
      CHECK(longest <= 64 * 1024);
      CHECK(t.client->stats().kept == 1);  // read to its end: the connection goes back
    }
  }

  TEST_CASE("row 25: a head and then silence is an error when the time is over") {
    for (const Wire wire : kWires) {
      ClientAndServer t{wire, head_then_silence};
      auto stream = t.open().value();
      const auto first = t.read(*stream, milliseconds{30});
      REQUIRE(first.has_error());
      CHECK(first.error().code == Errc::kBusy);
      const auto again = t.read(*stream, milliseconds{30});
      REQUIRE(again.has_error());  // a dead stream stays dead
      CHECK(again.error().code == Errc::kBusy);
      CHECK(t.client->stats().open == 0);
    }
  }

  TEST_CASE("row 26: three watches that fall silent all tell so") {
    ClientAndServer t{Wire::kTls, one_event_then_silence};
    for (int i = 0; i < 3; ++i) {
      auto stream = t.open().value();
      CHECK(t.read(*stream).value() == "one\n");
      CHECK(t.read(*stream, milliseconds{20}).error().code == Errc::kBusy);
    }
    CHECK(t.server.accepted() == 3);
  }

  TEST_CASE("events come one by one, then the end, and the connection serves again") {
    for (const Wire wire : kWires) {
      bool go_on = false;
      ClientAndServer t{wire, [&go_on](FakeConnection& c) { return two_events(c, go_on); }};
      auto stream = t.open().value();
      CHECK(stream->head().status == 200);
      CHECK(stream->head().content_type == "application/json;stream=watch");
      CHECK(t.read(*stream).value() == "one\n");
      go_on = true;
      CHECK(t.read(*stream).value() == "two\n");
      CHECK(t.read(*stream).value().empty());
      CHECK(t.read(*stream).value().empty());
      CHECK(t.get().value().body == "one\ntwo\n");
      CHECK(t.server.accepted() == 1);
    }
  }

  TEST_CASE("a stream that is dropped before its end closes its connection") {
    for (const Wire wire : kWires) {
      ClientAndServer t{wire, one_event_then_silence};
      auto stream = t.open().value();
      CHECK(t.client->stats().open == 1);
      stream.reset();
      CHECK(t.client->stats().open == 0);
      CHECK(t.client->stats().kept == 0);
      CHECK(run_until(t.io, [&] { return t.server.connections() == 0; }));
    }
  }

  TEST_CASE("a chunked body that breaks off is an error, never an end") {
    for (const Wire wire : kWires) {
      ClientAndServer t{wire, one_event_then_cut};
      auto stream = t.open().value();
      CHECK(t.read(*stream).value() == "one\n");
      const auto end = t.read(*stream);
      REQUIRE(end.has_error());
      CHECK(end.error().code == Errc::kIo);
    }
  }

  TEST_CASE("a body of unknown length ends with its connection") {
    for (const Wire wire : kWires) {
      ClientAndServer t{wire, until_closed};
      CHECK(t.get("/whole").value().body == "half whole");
      CHECK(t.client->stats().kept == 0);
    }
  }

  TEST_CASE("a body of unknown length that TLS does not vouch for is cut short") {
    ClientAndServer t{Wire::kTls, until_closed};
    const auto out = t.get("/cut");
    REQUIRE(out.has_error());
    CHECK(out.error().code == Errc::kIo);
    CHECK(out.error().context.find("cut short") != std::string::npos);
    auto stream = t.open("/cut").value();
    Result<std::string> piece = std::string{"begin"};
    while (piece && !piece->empty()) piece = t.read(*stream);
    REQUIRE(piece.has_error());
    CHECK(piece.error().code == Errc::kIo);
  }

  TEST_CASE("the head has its own time limit") {
    net::HttpClient::Limits limits;
    limits.head_timeout = milliseconds{30};
    ClientAndServer t{Wire::kTls, [](FakeConnection& c) { return c.silence(); }, limits};
    const auto out = t.open();
    REQUIRE(out.has_error());
    CHECK(out.error().code == Errc::kBusy);
    CHECK(out.error().context.find("head of an answer within 30 ms") != std::string::npos);
  }
}

}  // namespace koordlet::test
