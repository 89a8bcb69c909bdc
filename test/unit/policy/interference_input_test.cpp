#include <limits>

#include <doctest/doctest.h>

#include "unit/policy/interference_rig.hpp"

using namespace koordlet;
using namespace koordlet::policy;

TEST_SUITE("policy/interference bad input") {
  TEST_CASE("no signal at all is unknown, not 0") {
    const auto d = degree(empty_window());
    CHECK_FALSE(d.degree);
    CHECK_FALSE(d.be_degree);
    CHECK(d.missing ==
          std::vector<std::string>{
              "run queue", "cpu psi", "throttling", "cpi", "llc", "memory psi", "io psi"});
  }
  TEST_CASE("a throttled share alone is no signal: it only takes away") {
    auto w = empty_window();
    w.throttled = Permille{0};
    CHECK_FALSE(degree(w).degree);
  }
  TEST_CASE("throttling that is not known counts as none and is named") {
    auto w = t22();
    w.throttled.reset();
    CHECK(degree(w).cpu == doctest::Approx(50));
    CHECK(misses(degree(w), "throttling"));
  }
  TEST_CASE("one signal is enough, the others count 0 and are named") {
    auto w = t22();
    w.cpu.reset();
    w.io.reset();
    w.memory.reset();
    w.micro.clear();
    const auto d = degree(w, kConfirmed);
    CHECK(d.degree == 50);  // the run queue
    CHECK(d.missing == std::vector<std::string>{"cpu psi", "cpi", "llc", "memory psi", "io psi"});
  }
  TEST_CASE("40: pods without pressure files are judged by their CPI all the same") {
    auto w = empty_window();
    w.micro = t22().micro;
    CHECK(degree(w, kConfirmed).degree == 68);  // 67.5
  }
  TEST_CASE("a window without length gives nothing") {
    for (const auto length : {0s, -10s}) {
      auto w = t22();
      w.length = length;
      w.be_used = MilliCpu{1000};
      const auto d = degree(w, kConfirmed);
      CHECK_FALSE(d.degree);
      CHECK_FALSE(d.be_degree);
      CHECK(misses(d, "run queue"));
      CHECK(misses(d, "io psi"));
    }
  }
  TEST_CASE("values that are no numbers, or below 0, are missing and never NaN in the result") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const double inf = std::numeric_limits<double>::infinity();
    for (const double bad : {nan, inf, -inf, -1.0}) {
      CAPTURE(bad);
      auto w = t22();
      w.cpu = StallShare{bad, 6};
      w.memory = StallShare{3, bad};
      w.io = StallShare{bad, bad};
      w.micro[0].cpi = bad;
      w.throttled = Permille{-1};
      const auto d = degree(w, kConfirmed);
      for (const auto* name : {"cpu psi", "memory psi", "io psi", "cpi", "llc", "throttling"}) {
        CAPTURE(name);
        CHECK(misses(d, name));
      }
      CHECK(d.degree == 50);
      w = t22();
      w.micro[0].llc_miss_ratio = bad;
      CHECK(degree(w, kConfirmed).micro == doctest::Approx(75));
      CHECK(misses(degree(w, kConfirmed), "llc"));
    }
    auto w = t22();
    w.micro[0].llc_miss_ratio = 1.5;  // more misses than references
    CHECK(misses(degree(w, kConfirmed), "llc"));
    w.micro[0].cpi = 0;
    CHECK(misses(degree(w, kConfirmed), "cpi"));
  }
  TEST_CASE("a run queue counter that went back is missing, and so is a pod that did not run") {
    auto w = t22();
    w.cpu.reset();
    w.wait = -5s;
    CHECK(misses(degree(w), "run queue"));
    w = t22();
    w.cpu.reset();
    w.wait_p95.reset();
    for (const auto run : {0s, -3s}) {
      w.run = run;
      CHECK(misses(degree(w), "run queue"));
      CHECK(degree(w).cpu == 0);
    }
    w = t22();
    w.wait_p95 = -1ms;
    CHECK(degree(w).cpu == doctest::Approx(50));  // by wait / run
  }
  TEST_CASE("the largest values that fit are 100, not an overflow") {
    auto w = t22();
    w.run = 1ns;
    w.wait = std::chrono::nanoseconds::max();
    w.wait_p95 = std::chrono::nanoseconds::max();
    w.dispatches = std::numeric_limits<std::uint64_t>::max();
    w.behind_best_effort = std::chrono::nanoseconds::max();
    w.be_used = MilliCpu{std::numeric_limits<std::int64_t>::max()};
    w.node_capacity = MilliCpu{std::numeric_limits<std::int64_t>::max()};
    w.micro[0].cpi = std::numeric_limits<double>::max();
    CHECK(degree(w, kConfirmed).degree == 100);
    CHECK(degree(w, kConfirmed).be_degree == 100);
  }
  TEST_CASE("a ramp whose ends are equal or swapped is a step, never a division by 0") {
    const Ramp equal{2, 2}, swapped{5, 1};
    CHECK(equal(2) == 0);
    CHECK(equal(2.1) == 100);
    CHECK(swapped(5) == 0);
    CHECK(swapped(6) == 100);
    CHECK(Ramp{1, 3}(std::numeric_limits<double>::quiet_NaN()) == 0);
    CHECK(Ramp{1, 3}(std::numeric_limits<double>::infinity()) == 100);
    CHECK(Ramp{1, 3}(-std::numeric_limits<double>::infinity()) == 0);
  }
}
