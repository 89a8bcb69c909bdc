#include <doctest/doctest.h>

#include "unit/policy/interference_rig.hpp"

using namespace koordlet;
using namespace koordlet::policy;

namespace {

InterferenceWindow with_wait(double ratio) {
  auto w = empty_window();
  w.run = 1000s;
  w.wait = std::chrono::microseconds{static_cast<std::int64_t>(ratio * 1e9)};
  w.dispatches = 50;
  return w;
}
InterferenceWindow with_p95(double ms) {
  auto w = empty_window();
  w.wait = 0s;
  w.wait_p95 = std::chrono::microseconds{static_cast<std::int64_t>(ms * 1000)};
  w.dispatches = 50;
  return w;
}
InterferenceWindow with_cpi(double sigmas) {
  auto w = empty_window();
  w.micro = {{"app", MilliCpu{250}, 1.8 + sigmas * 0.16, std::nullopt}};
  return w;
}
InterferenceWindow with(std::optional<StallShare> InterferenceWindow::*resource, StallShare share) {
  auto w = empty_window();
  w.*resource = share;
  return w;
}

}  // namespace

TEST_SUITE("policy/interference degree") {
  TEST_CASE("T22: C 50, M 67.5, P 0, I 16.7 make 85 when the CPI is confirmed") {
    const auto d = degree(t22(), kConfirmed);
    CHECK(d.cpu == doctest::Approx(50));
    CHECK(d.micro == doctest::Approx(67.5));
    CHECK(d.memory == 0);
    CHECK(d.io == doctest::Approx(16.6667));
    CHECK(d.degree == 85);
    CHECK(d.top == InterferenceComponent::kMicro);
    CHECK(d.micro_confirmed);
    CHECK(d.missing.empty());
  }
  TEST_CASE("T22: an unconfirmed CPI counts 49 at most: 77") {
    const auto d = degree(t22(), {true, true, false});
    CHECK(d.micro == doctest::Approx(49));
    CHECK_FALSE(d.micro_confirmed);
    CHECK(d.degree == 77);
  }
  TEST_CASE("T22: what the pod's own quota throttles is not interference: 80") {
    auto w = t22();
    w.throttled = Permille{400};
    const auto d = degree(w, kConfirmed);
    CHECK(d.cpu == doctest::Approx(30));
    CHECK(d.degree == 80);
  }
  TEST_CASE("T22: everything at or below the lower ends is 0") {
    auto w = t22();
    w.wait = 300ms;  // 0.02 of 15 s
    w.wait_p95 = 1ms;
    w.cpu = StallShare{5, 2};
    w.memory = StallShare{5, 1};
    w.io = StallShare{10, 5};
    w.micro = {{"app", MilliCpu{1500}, 1.96, 0.35}};  // 1 sigma
    CHECK(degree(w, kConfirmed).degree == 0);
    w.wait = 0ms;
    w.wait_p95 = 0ms;
    w.cpu = w.memory = w.io = StallShare{0, 0};
    w.micro[0].cpi = 0.5;
    CHECK(degree(w, kConfirmed).degree == 0);
  }
  TEST_CASE("each ramp is 0 at its lower end, 50 in the middle, 100 from its upper end on") {
    using W = InterferenceWindow;
    struct Row {
      const char* signal;
      double lo, hi;
      double (*score)(double);
    };
    const Row rows[] = {
        {"wait / run", 0.02, 0.18, [](double x) { return degree(with_wait(x)).cpu; }},
        {"p95", 1, 7, [](double x) { return degree(with_p95(x)).cpu; }},
        {"cpu full",
         2,
         18,
         [](double x) {
           return degree(with(&W::cpu, {0, x})).cpu;
         }},
        {"cpu some, no full line",
         5,
         45,
         [](double x) {
           return degree(with(&W::cpu, {x, {}})).cpu;
         }},
        {"memory some",
         5,
         25,
         [](double x) {
           return degree(with(&W::memory, {x, {}})).memory;
         }},
        {"memory full",
         1,
         11,
         [](double x) {
           return degree(with(&W::memory, {0, x})).memory;
         }},
        {"io some",
         10,
         50,
         [](double x) {
           return degree(with(&W::io, {x, {}})).io;
         }},
        {"io full",
         5,
         35,
         [](double x) {
           return degree(with(&W::io, {0, x})).io;
         }},
        {"cpi", 1, 3, [](double x) { return degree(with_cpi(x), kConfirmed).micro; }},
    };
    for (const auto& row : rows) {
      CAPTURE(row.signal);
      CHECK(row.score(row.lo) == doctest::Approx(0));
      CHECK(row.score((row.lo + row.hi) / 2) == doctest::Approx(50));
      CHECK(row.score(row.hi) == doctest::Approx(100));
      CHECK(row.score(row.hi * 3) == doctest::Approx(100));
    }
  }
  TEST_CASE("a weighted component alone: memory 100 is 80, io 100 is 60") {
    CHECK(degree(with(&InterferenceWindow::memory, {100, 100})).degree == 80);
    const auto io = degree(with(&InterferenceWindow::io, {100, 100}));
    CHECK(io.degree == 60);
    CHECK(io.top == InterferenceComponent::kIo);
  }
  TEST_CASE("the top component is the one that weighs most in the degree") {
    auto w = empty_window();
    w.cpu = StallShare{0, 10};     // C 50
    w.memory = StallShare{17, 0};  // P 60, counted 48
    CHECK(degree(w).top == InterferenceComponent::kCpu);
    w.memory = StallShare{18, 0};  // P 65, counted 52
    CHECK(degree(w).top == InterferenceComponent::kMemory);
  }
  TEST_CASE("a degree of a half is rounded up, also where doubles fall short of it") {
    for (const double wanted : {0.5, 1.5, 12.5, 50.5, 84.5, 98.5}) {
      CAPTURE(wanted);
      CHECK(degree(of_degree(wanted, {})).degree == static_cast<int>(wanted + 0.5));
      CHECK(degree(of_degree(wanted - 0.01, {})).degree == static_cast<int>(wanted - 0.5));
    }
  }
  TEST_CASE("cpu some counts half where there is a full line, in full where there is none") {
    CHECK(degree(with(&InterferenceWindow::cpu, {25, {}})).cpu == doctest::Approx(50));
    CHECK(degree(with(&InterferenceWindow::cpu, {25, 0})).cpu == doctest::Approx(25));
    CHECK(degree(with(&InterferenceWindow::cpu, {25, 10})).cpu == doctest::Approx(50));
  }
  TEST_CASE("a pod that is throttled all the time, and more, has no CPU component") {
    auto w = t22();
    for (const int permille : {1000, 1700}) {
      w.throttled = Permille{permille};
      CHECK(degree(w).cpu == 0);
    }
  }
  TEST_CASE("49 dispatches say nothing of the run queue, 50 do") {
    auto w = t22();
    w.cpu.reset();
    w.dispatches = 49;
    CHECK(misses(degree(w), "run queue"));
    CHECK(degree(w).cpu == 0);
    w.dispatches = 50;
    CHECK_FALSE(misses(degree(w), "run queue"));
    CHECK(degree(w).cpu == doctest::Approx(50));
    w.dispatches.reset();
    CHECK(misses(degree(w), "run queue"));
  }
  TEST_CASE("a source without a distribution, or without run time, is judged by what it has") {
    auto w = empty_window();
    w.dispatches = 1000;
    w.run = 10s;
    w.wait = 1s;
    CHECK(degree(w).cpu == doctest::Approx(50));
    w.run.reset();
    w.wait_p95 = 4ms;
    CHECK(degree(w).cpu == doctest::Approx(50));
    w.run = 10s;
    w.wait = 1800ms;
    CHECK(degree(w).cpu == doctest::Approx(100));
  }
}
