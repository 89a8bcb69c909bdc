#include "kernel/core_sched.hpp"

#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "support/skip.hpp"

using namespace koordlet;

namespace {

/// A process that waits to be killed.
class Sleeper {
 public:
  Sleeper() : pid_{::fork()} {
    if (pid_ != 0) return;
    for (;;) ::pause();
  }
  ~Sleeper() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;
  int pid() const { return pid_; }

 private:
  pid_t pid_;
};

}  // namespace

TEST_SUITE("live/core scheduling") {
  TEST_CASE("core scheduling: two tasks share a cookie, this one has none, and it goes again") {
    KOORDLET_SKIP_UNLESS(kernel::probe_core_sched().has_value(),
                         "this kernel or CPU has no core scheduling");
    const Sleeper a, b;
    const auto cookie = kernel::make_core_cookie(a.pid());
    KOORDLET_SKIP_UNLESS(cookie.has_value(), "no right to give a cookie to another task");
    CHECK(*cookie != 0);
    const auto shared = kernel::share_core_cookie(a.pid(), {b.pid(), 1 << 30});
    REQUIRE(shared.has_value());
    CHECK(shared->given == 1);
    CHECK(kernel::core_cookie(b.pid()).value() == *cookie);
    CHECK(kernel::core_cookie(0).value() == 0);
    const auto cleared = kernel::clear_core_cookie({a.pid(), b.pid()});
    REQUIRE(cleared.has_value());
    CHECK(cleared->given == 2);
    CHECK(kernel::core_cookie(a.pid()).value() == 0);
  }
}
