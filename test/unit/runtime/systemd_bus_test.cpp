#include "runtime/systemd_bus.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/write.hpp>
#include <doctest/doctest.h>

#include "runtime/bus_connection.hpp"
#include "support/async.hpp"
#include "support/fake_tree.hpp"

using namespace koordlet;
using namespace koordlet::runtime;
using koordlet::test::run;
using namespace std::chrono_literals;
namespace asio = boost::asio;

namespace {

SystemdBus::Options options(const test::FakeTree& tree) { return {tree.root(), 50ms, 5ms, 20ms}; }

asio::awaitable<Result<void>> set_one(SystemdBus& bus, asio::io_context& io) {
  asio::steady_timer wait{io, asio::steady_timer::time_point::max()};
  Result<void> out;
  bus.set("a.slice", {{"CPUWeight", std::uint64_t{5}}}, [&](Result<void> r) {
    out = std::move(r);
    wait.cancel();
  });
  co_await wait.async_wait(asio::as_tuple(asio::use_awaitable));
  co_return out;
}

}  // namespace

TEST_SUITE("systemd bus") {
  TEST_CASE("D-Bus errors: no such unit, refused, denied, no answer") {
    CHECK(bus_error_code("org.freedesktop.systemd1.NoSuchUnit") == Errc::kNotFound);
    CHECK(bus_error_code("org.freedesktop.systemd1.UnitMasked") == Errc::kInvalid);
    CHECK(bus_error_code("org.freedesktop.DBus.Error.InvalidArgs") == Errc::kInvalid);
    CHECK(bus_error_code("org.freedesktop.DBus.Error.PropertyReadOnly") == Errc::kInvalid);
    CHECK(bus_error_code("org.freedesktop.DBus.Error.AccessDenied") == Errc::kDenied);
    CHECK(bus_error_code("org.freedesktop.DBus.Error.NoReply") == Errc::kBusy);
    CHECK(bus_error_code("org.freedesktop.DBus.Error.Disconnected") == Errc::kBusy);
    CHECK(bus_error_code("System.Error.EINVAL") == Errc::kInvalid);
    CHECK(bus_error_code("") == Errc::kInvalid);
  }

  TEST_CASE("no socket: said with its path, and a call has an answer all the same") {
    const test::FakeTree tree{{"x", ""}};
    asio::io_context io;
    SystemdBus bus{io.get_executor(), options(tree)};
    const auto connected = run(io, bus.connect());
    REQUIRE(connected.has_error());
    CHECK(connected.error().code == Errc::kNotFound);
    CHECK(bus.fault().find("/dbus/system_bus_socket") != std::string::npos);
    CHECK_FALSE(bus.up());
    CHECK(run(io, set_one(bus, io)).error().code == Errc::kBusy);
  }

  TEST_CASE("a socket where nobody listens") {
    const test::FakeTree tree{{"systemd/x", ""}};
    asio::io_context io;
    { asio::local::stream_protocol::acceptor gone{io, {tree.path("systemd/private")}}; }
    SystemdBus bus{io.get_executor(), options(tree)};
    const auto connected = run(io, bus.connect());
    REQUIRE(connected.has_error());
    CHECK(connected.error().code == Errc::kBusy);
    CHECK(bus.fault().find("/systemd/private") != std::string::npos);
  }

  TEST_CASE("a peer that accepts and says nothing does not hold the loop") {
    const test::FakeTree tree{{"systemd/x", ""}};
    asio::io_context io;
    asio::local::stream_protocol::acceptor mute{io, {tree.path("systemd/private")}};
    SystemdBus bus{io.get_executor(), options(tree)};
    const auto connected = run(io, bus.connect());
    REQUIRE(connected.has_error());
    CHECK(connected.error().code == Errc::kBusy);
  }

  TEST_CASE("a peer that talks nonsense, and one that hangs up") {
    for (const std::string answer : {"HTTP/1.1 400 Bad Request\r\n\r\n", ""}) {
      CAPTURE(answer);
      const test::FakeTree tree{{"systemd/x", ""}};
      asio::io_context io;
      asio::local::stream_protocol::acceptor odd{io, {tree.path("systemd/private")}};
      odd.async_accept([&](auto ec, asio::local::stream_protocol::socket peer) {
        if (!ec && !answer.empty()) asio::write(peer, asio::buffer(answer));
      });
      SystemdBus bus{io.get_executor(), options(tree)};
      const auto connected = run(io, bus.connect());
      CHECK(connected.has_error());
      CHECK_FALSE(bus.up());
      CHECK_FALSE(bus.fault().empty());
    }
  }

  TEST_CASE("the task tries again, tells each time, and ends when it is cancelled") {
    const test::FakeTree tree{{"x", ""}};
    asio::io_context io;
    SystemdBus bus{io.get_executor(), options(tree)};
    int told = 0;
    asio::cancellation_signal stop;
    bool ended = false;
    asio::co_spawn(io,
                   bus.run([&] {
                     if (++told == 3) stop.emit(asio::cancellation_type::terminal);
                   }),
                   asio::bind_cancellation_slot(stop.slot(),
                                                [&](const std::exception_ptr&) { ended = true; }));
    io.run();
    CHECK(told == 3);
    CHECK(ended);
  }
}
