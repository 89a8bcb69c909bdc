#include "reactor/timer_fd.hpp"

#include <stdexcept>
#include <thread>

#include <boost/asio/detached.hpp>
#include <boost/asio/error.hpp>
#include <doctest/doctest.h>

#include "reactor/task_group.hpp"
#include "support/async.hpp"

using namespace std::chrono_literals;
using koordlet::reactor::TaskGroup;
using koordlet::reactor::TimerFd;
namespace asio = boost::asio;

namespace {

asio::awaitable<void> wait_into(TimerFd& timer, std::vector<boost::system::error_code>& out) {
  out.push_back(co_await timer.wait());
}

asio::awaitable<void> tick(TimerFd& timer, int times) {
  for (int i = 0; i < times; ++i) {
    const auto ec = co_await timer.wait();
    if (ec) throw boost::system::system_error{ec};
  }
}

}  // namespace

TEST_SUITE("reactor/timer_fd") {
  TEST_CASE("it ticks again and again") {
    asio::io_context io;
    TimerFd timer{io.get_executor(), 1ms};
    const auto start = std::chrono::steady_clock::now();
    koordlet::test::run(io, tick(timer, 5));
    // Five deadlines cannot pass in less than five intervals, however slow the machine.
    CHECK(std::chrono::steady_clock::now() - start >= 5ms);
  }

  TEST_CASE("deadlines missed in a stall are counted and not caught up") {
    asio::io_context io;
    TimerFd timer{io.get_executor(), 20ms};
    koordlet::test::run(io, tick(timer, 1));
    const auto before = timer.missed();
    std::this_thread::sleep_for(110ms);
    std::vector<boost::system::error_code> woken;
    koordlet::test::run(io, wait_into(timer, woken));
    CHECK(timer.missed() - before >= 4);
    // The burst is spent: the next deadline has not come, so a poll of the loop wakes nobody.
    timer.set_interval(1h);
    asio::co_spawn(io, wait_into(timer, woken), asio::detached);
    io.restart();
    io.poll();
    CHECK(woken.size() == 1);
  }

  TEST_CASE("a new interval holds for the wait in progress") {
    asio::io_context io;
    TimerFd timer{io.get_executor(), 24h};
    std::vector<boost::system::error_code> woken;
    asio::co_spawn(io, wait_into(timer, woken), asio::detached);
    io.poll();
    timer.set_interval(1ms);
    io.restart();
    io.run();
    REQUIRE(woken.size() == 1);
    CHECK_FALSE(woken[0]);
  }

  TEST_CASE("a cancelled wait is operation_aborted") {
    asio::io_context io;
    TimerFd timer{io.get_executor(), 24h};
    TaskGroup group{io.get_executor(), nullptr};
    std::vector<boost::system::error_code> woken;
    group.spawn("t", wait_into(timer, woken));
    io.poll();
    group.request_stop();
    io.run();
    REQUIRE(woken.size() == 1);
    CHECK(woken[0] == asio::error::operation_aborted);
    CHECK(timer.missed() == 0);
  }

  TEST_CASE("an interval of zero or less is refused") {
    asio::io_context io;
    CHECK_THROWS_AS((TimerFd{io.get_executor(), 0ns}), std::invalid_argument);
    TimerFd timer{io.get_executor(), 1s};
    CHECK_THROWS_AS(timer.set_interval(-1ns), std::invalid_argument);
  }
}
