#include <doctest/doctest.h>

#include "unit/policy/interference_rig.hpp"

using namespace koordlet;
using namespace koordlet::policy;

TEST_SUITE("policy/interference best effort") {
  TEST_CASE("T23: 1.6 of 64 cores of best effort halve 80, 3.2 give it in full") {
    auto w = of_degree(80, MonoTime{100s});
    w.node_capacity = MilliCpu{64'000};
    struct Row {
      std::int64_t used;
      int be_degree;
    };
    for (const Row& row :
         {Row{1600, 40}, Row{3200, 80}, Row{9000, 80}, Row{64'000, 80}, Row{800, 20}, Row{0, 0}}) {
      CAPTURE(row.used);
      w.be_used = MilliCpu{row.used};
      CHECK(degree(w).degree == 80);
      CHECK(degree(w).be_degree == row.be_degree);
    }
  }
  TEST_CASE("best-effort use or a node of unknown size gives no part, and neither does no degree") {
    auto w = of_degree(80, MonoTime{100s});
    w.node_capacity = MilliCpu{64'000};
    CHECK_FALSE(degree(w).be_degree);
    w.be_used = MilliCpu{-1};  // a counter that went back
    CHECK_FALSE(degree(w).be_degree);
    w.be_used = MilliCpu{1600};
    w.node_capacity = MilliCpu{0};
    CHECK_FALSE(degree(w).be_degree);
    w.node_capacity = MilliCpu{64'000};
    w.cpu.reset();
    CHECK_FALSE(degree(w).degree);
    CHECK_FALSE(degree(w).be_degree);
  }
  TEST_CASE("where it is known behind whom the pod waited, that share is best effort's") {
    auto w = empty_window();
    w.run = 10s;
    w.wait = 1800ms;  // C 100
    w.dispatches = 1000;
    w.node_capacity = MilliCpu{64'000};
    w.be_used = MilliCpu{1000};  // f 0.3125: one hog, and it sits on the pod's CPU
    CHECK(degree(w).be_degree == 31);
    w.behind_best_effort = 1800ms;
    CHECK(degree(w).be_degree == 100);
    w.behind_best_effort = 900ms;
    CHECK(degree(w).be_degree == 50);
    w.behind_best_effort = 0ms;  // its own threads, and other pods
    CHECK(degree(w).be_degree == 0);
    w.behind_best_effort = 5s;  // more than was waited: all of it
    CHECK(degree(w).be_degree == 100);
    w.behind_best_effort = -5ms;  // went back: not known, the load counts again
    CHECK(degree(w).be_degree == 31);
    w.behind_best_effort = 1800ms;
    w.be_used = MilliCpu{0};
    CHECK(degree(w).be_degree == 0);
    w.be_used.reset();
    CHECK_FALSE(degree(w).be_degree);
  }
  TEST_CASE("the share of the waits counts for the CPU component only") {
    auto w = empty_window();
    w.run = 10s;
    w.wait = 1s;  // C 50
    w.dispatches = 1000;
    w.memory = StallShare{100, 100};  // P 100, alone 80; with C 90
    w.node_capacity = MilliCpu{2000};
    w.be_used = MilliCpu{50};  // f 0.5
    CHECK(degree(w).degree == 90);
    CHECK(degree(w).be_degree == 45);
    w.behind_best_effort = 1s;  // 1 x (90 - 80) + 0.5 x 80
    CHECK(degree(w).be_degree == 50);
    w.behind_best_effort = 0s;
    CHECK(degree(w).be_degree == 40);
  }
  TEST_CASE("too few dispatches say nothing of behind whom the pod waited") {
    auto w = of_degree(80, MonoTime{100s});
    w.node_capacity = MilliCpu{64'000};
    w.be_used = MilliCpu{1600};
    w.wait = 100ms;
    w.behind_best_effort = 100ms;
    w.dispatches = 49;
    CHECK(degree(w).be_degree == 40);
    w.dispatches = 50;
    CHECK(degree(w).be_degree == 80);
  }
}
