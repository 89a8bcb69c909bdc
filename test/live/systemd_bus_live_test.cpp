#include <cstdio>
#include <unistd.h>

#include <doctest/doctest.h>

#include "runtime/systemd_bus.hpp"
#include "support/async.hpp"
#include "support/skip.hpp"

using namespace koordlet;
using namespace koordlet::runtime;
namespace asio = boost::asio;

namespace {

asio::awaitable<Result<void>> set(SystemdBus& bus,
                                  asio::io_context& io,
                                  std::string unit,
                                  std::vector<UnitProperty> properties) {
  asio::steady_timer wait{io, asio::steady_timer::time_point::max()};
  Result<void> out;
  bus.set(unit, properties, [&](Result<void> r) {
    out = std::move(r);
    wait.cancel();
  });
  co_await wait.async_wait(asio::as_tuple(asio::use_awaitable));
  co_return out;
}

}  // namespace

TEST_SUITE("systemd, live") {
  TEST_CASE("the manager answers, refuses unknown units and properties, and makes up no slice") {
    KOORDLET_SKIP_UNLESS(::geteuid() == 0, "needs root");
    KOORDLET_SKIP_UNLESS(::access("/run/systemd/private", F_OK) == 0 ||
                             ::access("/run/dbus/system_bus_socket", F_OK) == 0,
                         "systemd is not process 1 here: no bus below /run");
    asio::io_context io;
    SystemdBus bus{io.get_executor(), {}};
    const auto version = test::run(io, bus.connect());
    KOORDLET_SKIP_UNLESS(version.has_value(), "there is a socket, but no systemd answers");
    CHECK_FALSE(version->empty());
    const std::vector<UnitProperty> weight{{"CPUWeight", std::uint64_t{100}}};
    for (const char* unit : {"koordlet-none.scope", "koordlet-none.slice"}) {
      CAPTURE(unit);
      const auto gone = test::run(io, set(bus, io, unit, weight));
      REQUIRE(gone.has_error());
      CHECK(gone.error().code == Errc::kNotFound);
    }
    CHECK(::access("/run/systemd/system.control/koordlet-none.slice.d", F_OK) != 0);
    const auto odd = test::run(io, set(bus, io, "-.slice", {{"Koordlet", std::uint64_t{1}}}));
    REQUIRE(odd.has_error());
    CHECK(odd.error().code == Errc::kInvalid);
  }
}
