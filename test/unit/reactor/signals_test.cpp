#include "reactor/signals.hpp"

#include <signal.h>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "reactor/task_group.hpp"
#include "support/async.hpp"

using koordlet::Errc;
using koordlet::Result;
using koordlet::reactor::Signals;
using koordlet::reactor::TaskGroup;
namespace asio = boost::asio;

namespace {

asio::awaitable<void> next_into(Signals& signals, std::vector<Result<int>>& out) {
  out.push_back(co_await signals.next());
}

int next(asio::io_context& io, Signals& signals) {
  const auto got = koordlet::test::run(io, signals.next());
  REQUIRE(got.has_value());
  return *got;
}

/// Exit code of a child that runs `body` and then leaves with 99.
template <class F>
int in_child(F body) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    body();
    ::_exit(99);
  }
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

}  // namespace

TEST_SUITE("reactor/signals") {
  TEST_CASE("signals come in order, any number of SIGHUP among them") {
    asio::io_context io;
    Signals signals{io.get_executor()};
    ::raise(SIGHUP);
    ::raise(SIGHUP);
    ::raise(SIGTERM);
    CHECK(next(io, signals) == SIGHUP);
    CHECK(next(io, signals) == SIGHUP);
    CHECK(next(io, signals) == SIGTERM);
  }

  TEST_CASE("the second SIGTERM or SIGINT ends the process, loop or no loop") {
    for (const int second : {SIGTERM, SIGINT}) {
      CAPTURE(second);
      CHECK(in_child([second] {
              asio::io_context io;
              const Signals signals{io.get_executor(), 17};
              ::raise(SIGTERM);
              ::raise(second);
            }) == 17);
    }
  }

  TEST_CASE("one stop and many reloads do not end the process") {
    CHECK(in_child([] {
            asio::io_context io;
            const Signals signals{io.get_executor(), 17};
            ::raise(SIGINT);
            for (int i = 0; i < 70'000; ++i) ::raise(SIGHUP);  // more than the pipe holds
          }) == 99);
  }

  TEST_CASE("a broken pipe does not end the process") {
    CHECK(in_child([] {
            asio::io_context io;
            const Signals signals{io.get_executor(), 17};
            ::raise(SIGPIPE);
          }) == 99);
  }

  TEST_CASE("former dispositions come back, and a second object is refused") {
    struct sigaction before {};
    ::sigaction(SIGTERM, nullptr, &before);
    asio::io_context io;
    {
      const Signals signals{io.get_executor()};
      CHECK_THROWS_AS(Signals{io.get_executor()}, std::logic_error);
      struct sigaction now {};
      ::sigaction(SIGTERM, nullptr, &now);
      CHECK((now.sa_handler != before.sa_handler));
    }
    struct sigaction after {};
    ::sigaction(SIGTERM, nullptr, &after);
    CHECK((after.sa_handler == before.sa_handler));
    CHECK_NOTHROW(Signals{io.get_executor()});
  }

  TEST_CASE("a cancelled wait is an error") {
    asio::io_context io;
    Signals signals{io.get_executor()};
    TaskGroup group{io.get_executor(), nullptr};
    std::vector<Result<int>> out;
    group.spawn("signals", next_into(signals, out));
    io.poll();
    group.request_stop();
    io.run();
    REQUIRE(out.size() == 1);
    REQUIRE(out[0].has_error());
    CHECK(out[0].error().code == Errc::kIo);
  }
}
