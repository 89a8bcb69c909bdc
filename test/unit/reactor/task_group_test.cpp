#include "reactor/task_group.hpp"

#include <stdexcept>

#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <doctest/doctest.h>

#include "support/async.hpp"

using namespace std::chrono_literals;
using koordlet::reactor::TaskGroup;
using koordlet::reactor::use_ec;
namespace asio = boost::asio;

namespace {

struct Exits {
  std::vector<std::string> names;
  std::vector<std::string> failures;  // "name: what"
  TaskGroup::OnExit hook() {
    return [this](const std::string& name, const std::exception_ptr& e) {
      names.push_back(name);
      if (!e) return;
      try {
        std::rethrow_exception(e);
      } catch (const std::exception& failure) {
        failures.push_back(name + ": " + failure.what());
      }
    };
  }
};

asio::awaitable<void> nothing() { co_return; }

asio::awaitable<void> yield_once() {
  const auto ex = co_await asio::this_coro::executor;
  co_await asio::post(ex, asio::use_awaitable);
}

asio::awaitable<void> wait_for_cancel() {
  asio::steady_timer timer{co_await asio::this_coro::executor};
  timer.expires_at(asio::steady_timer::time_point::max());
  co_await timer.async_wait(use_ec);
}

asio::awaitable<void> wait_and_throw_cancel() {
  asio::steady_timer timer{co_await asio::this_coro::executor};
  timer.expires_at(asio::steady_timer::time_point::max());
  co_await timer.async_wait(asio::use_awaitable);
}

/// Ignores a stop until `release` is cancelled.
asio::awaitable<void> stubborn(asio::steady_timer& release) {
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  co_await release.async_wait(use_ec);
}

asio::awaitable<void> fail(const char* what) {
  co_await yield_once();
  throw std::runtime_error{what};
}

asio::awaitable<void> cleans_up(std::vector<std::string>& steps) {
  asio::steady_timer timer{co_await asio::this_coro::executor};
  timer.expires_at(asio::steady_timer::time_point::max());
  const auto [ec] = co_await timer.async_wait(use_ec);
  steps.push_back(ec == asio::error::operation_aborted ? "aborted" : "woken");
  co_await asio::this_coro::reset_cancellation_state();
  co_await yield_once();
  steps.push_back("cleaned");
}

asio::awaitable<void> join_into(TaskGroup& group, std::chrono::milliseconds grace, bool& out) {
  out = co_await group.join(grace);
}

}  // namespace

TEST_SUITE("reactor/task_group") {
  TEST_CASE("ten thousand finished tasks leave nothing behind") {
    asio::io_context io;
    Exits exits;
    TaskGroup group{io.get_executor(), exits.hook()};
    for (int i = 0; i < 10'000; ++i) {
      group.spawn("t", yield_once());
      if (i % 100 == 0) {
        io.restart();
        io.run();
        REQUIRE(group.live() == 0);
      }
    }
    CHECK(group.live() > 0);
    io.restart();
    io.run();
    CHECK(group.live() == 0);
    CHECK(exits.names.size() == 10'000);
    CHECK(exits.failures.empty());
  }

  TEST_CASE("the last started task is stopped first") {
    asio::io_context io;
    Exits exits;
    TaskGroup group{io.get_executor(), exits.hook()};
    for (const char* name : {"a", "b", "c"}) group.spawn(name, wait_for_cancel());
    io.poll();
    CHECK(group.live_names() == std::vector<std::string>{"a", "b", "c"});
    group.request_stop();
    io.run();
    CHECK(exits.names == std::vector<std::string>{"c", "b", "a"});
  }

  TEST_CASE("an exception is reported with the name of its task, and the others go on") {
    asio::io_context io;
    Exits exits;
    TaskGroup group{io.get_executor(), exits.hook()};
    group.spawn("good", wait_for_cancel());
    group.spawn("bad", fail("boom"));
    io.poll();
    CHECK(exits.failures == std::vector<std::string>{"bad: boom"});
    CHECK(group.live_names() == std::vector<std::string>{"good"});
    group.request_stop();
    io.run();
  }

  TEST_CASE("a cancellation that comes out as an exception is a normal end") {
    asio::io_context io;
    Exits exits;
    TaskGroup group{io.get_executor(), exits.hook()};
    group.spawn("t", wait_and_throw_cancel());
    io.poll();
    group.request_stop();
    io.run();
    CHECK(exits.names == std::vector<std::string>{"t"});
    CHECK(exits.failures.empty());
  }

  TEST_CASE("a task that is stopped before it began ends without running") {
    asio::io_context io;
    Exits exits;
    TaskGroup group{io.get_executor(), exits.hook()};
    bool ran = false;
    auto body = [&ran]() -> asio::awaitable<void> {
      ran = true;
      co_return;
    };
    group.spawn("early", body());
    group.request_stop();
    io.run();
    CHECK_FALSE(ran);
    CHECK(exits.names == std::vector<std::string>{"early"});
    CHECK(group.live() == 0);
  }

  TEST_CASE("a task may stop its own group before its first wait") {
    asio::io_context io;
    Exits exits;
    TaskGroup group{io.get_executor(), exits.hook()};
    auto body = [&group]() -> asio::awaitable<void> {
      group.request_stop();
      co_return;
    };
    group.spawn("self", body());
    io.run();
    CHECK(exits.names == std::vector<std::string>{"self"});
    CHECK(exits.failures.empty());
  }

  TEST_CASE("cleanup after a cancel may await once it has reset the cancellation state") {
    asio::io_context io;
    Exits exits;
    TaskGroup group{io.get_executor(), exits.hook()};
    std::vector<std::string> steps;
    group.spawn("t", cleans_up(steps));
    io.poll();
    group.request_stop();
    io.run();
    CHECK(steps == std::vector<std::string>{"aborted", "cleaned"});
    CHECK(exits.failures.empty());
  }

  TEST_CASE("join without tasks returns at once") {
    asio::io_context io;
    TaskGroup group{io.get_executor(), nullptr};
    CHECK(koordlet::test::run(io, group.join(1h)));
  }

  TEST_CASE("join waits for tasks that end within the grace") {
    asio::io_context io;
    Exits exits;
    TaskGroup group{io.get_executor(), exits.hook()};
    group.spawn("t", wait_for_cancel());
    bool joined = false;
    asio::co_spawn(io, join_into(group, 1h, joined), asio::detached);
    io.poll();
    CHECK_FALSE(joined);
    group.request_stop();
    io.poll();
    CHECK(joined);
  }

  TEST_CASE("the grace runs out and the stuck task is named") {
    asio::io_context io;
    Exits exits;
    TaskGroup group{io.get_executor(), exits.hook()};
    asio::steady_timer release{io, asio::steady_timer::time_point::max()};
    group.spawn("easy", wait_for_cancel());
    group.spawn("stuck", stubborn(release));
    io.poll();
    group.request_stop();
    CHECK_FALSE(koordlet::test::run(io, group.join(5ms)));
    CHECK(group.live_names() == std::vector<std::string>{"stuck"});
    release.cancel();
    CHECK(koordlet::test::run(io, group.join(1h)));
  }

  TEST_CASE("a join that is cancelled itself says what it knows") {
    asio::io_context io;
    Exits exits;
    TaskGroup inner{io.get_executor(), exits.hook()};
    TaskGroup outer{io.get_executor(), nullptr};
    inner.spawn("t", wait_for_cancel());
    bool joined = true;
    outer.spawn("joiner", join_into(inner, 1h, joined));
    io.poll();
    outer.request_stop();
    io.poll();
    CHECK_FALSE(joined);
    CHECK(outer.live() == 0);
    CHECK(inner.live() == 1);
    inner.request_stop();
    io.poll();
  }

  TEST_CASE("on_exit may start the successor") {
    asio::io_context io;
    int runs = 0;
    TaskGroup* self = nullptr;
    TaskGroup group{io.get_executor(), [&](const std::string& name, const std::exception_ptr&) {
                      if (++runs < 3) self->spawn(name, nothing());
                    }};
    self = &group;
    group.spawn("again", nothing());
    io.run();
    CHECK(runs == 3);
    CHECK(group.live() == 0);
  }

  TEST_CASE("a group that dies before its tasks leaves them to end quietly") {
    asio::io_context io;
    asio::steady_timer release{io, asio::steady_timer::time_point::max()};
    int exits = 0;
    {
      TaskGroup group{io.get_executor(),
                      [&](const std::string&, const std::exception_ptr&) { ++exits; }};
      group.spawn("orphan", stubborn(release));
      io.poll();
    }
    release.cancel();
    io.run();
    CHECK(exits == 0);
  }
}
