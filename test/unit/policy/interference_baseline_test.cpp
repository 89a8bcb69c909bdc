#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "unit/policy/interference_rig.hpp"

using namespace koordlet;
using namespace koordlet::policy;

TEST_SUITE("policy/interference baseline") {
  TEST_CASE("mean and sigma of what was learned") {
    Baseline b;
    for (const double v : {2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0}) b.learn(v, 1);
    CHECK(b.mean == doctest::Approx(5));
    CHECK(b.sigma() == doctest::Approx(2));
    CHECK(b.samples == 8);
    CHECK(b.day == 1);
    CHECK(Baseline{}.sigma() == 0);
  }
  TEST_CASE("mature from 60 samples on; a sigma below 5 % of the mean counts as 5 %") {
    Baseline b;
    for (int i = 0; i < 59; ++i) b.learn(1, 1);
    CHECK_FALSE(b.z(2, 60));
    b.learn(1, 1);
    CHECK(b.sigma() == doctest::Approx(0));
    CHECK(b.z(2, 60).value() == doctest::Approx(20));
    CHECK(b.z(0.9, 60).value() == doctest::Approx(-2));
    const auto wide = baseline(1.8, 0.16);
    CHECK(wide.z(2.2, 60).value() == doctest::Approx(2.5));
  }
  TEST_CASE("an older day weighs 0.9, its mean and spread stay until a sample comes") {
    Baseline b;
    for (int i = 0; i < 10; ++i) b.learn(1, 100);
    b.learn(2, 101);
    CHECK(b.weight == doctest::Approx(10));                // 10 x 0.9 + 1
    CHECK(b.mean == doctest::Approx((9.0 * 1 + 2) / 10));  // weighted
    CHECK(b.day == 101);
    // Weights 9 at 1 and 1 at 2 around 1.1.
    CHECK(b.sigma() == doctest::Approx(std::sqrt((9 * 0.01 + 0.81) / 10)));
    CHECK(b.samples == 11);
  }
  TEST_CASE("ten days without a sample weigh 0.9 to the tenth, at once") {
    Baseline b;
    for (int i = 0; i < 100; ++i) b.learn(1, 0);
    b.learn(3, 10);
    const double old = 100 * std::pow(0.9, 10);
    CHECK(b.weight == doctest::Approx(old + 1));
    CHECK(b.mean == doctest::Approx((old + 3) / (old + 1)));
  }
  TEST_CASE("a clock that went back makes nothing older, nor the next day twice") {
    Baseline b;
    for (int i = 0; i < 10; ++i) b.learn(1, 100);
    b.learn(1, 99);
    CHECK(b.weight == doctest::Approx(11));
    CHECK(b.day == 100);
    b.learn(1, 100);
    CHECK(b.weight == doctest::Approx(12));
  }
  TEST_CASE("a clock at the ends of time is no overflow") {
    Baseline b;
    b.learn(1, std::numeric_limits<std::int64_t>::min());
    b.learn(2, std::numeric_limits<std::int64_t>::max());
    CHECK(b.weight == doctest::Approx(1));
    CHECK(b.mean == doctest::Approx(2));
  }
  TEST_CASE("what is no number, below 0 or too large for a square is not learned") {
    Baseline b;
    b.learn(1, 1);
    const auto before = b;
    b.learn(std::numeric_limits<double>::quiet_NaN(), 2);
    b.learn(std::numeric_limits<double>::infinity(), 2);
    b.learn(-1, 2);
    b.learn(1e300, 2);
    CHECK(b == before);
  }
  TEST_CASE("z is unknown for what is no number and for a mean of 0, never NaN") {
    Baseline zero;
    for (int i = 0; i < 60; ++i) zero.learn(0, 1);
    CHECK_FALSE(zero.z(0, 60));
    CHECK_FALSE(Baseline{}.z(1, 0));
    const auto b = baseline(1.8, 0.16);
    CHECK_FALSE(b.z(std::numeric_limits<double>::quiet_NaN(), 60));
    CHECK_FALSE(b.z(std::numeric_limits<double>::infinity(), 60));
    Baseline tiny;
    for (int i = 0; i < 60; ++i) tiny.learn(1e-300, 1);
    CHECK_FALSE(tiny.z(1e300, 60));
  }
}

TEST_SUITE("policy/interference learning") {
  const InterferenceConfig c;
  const BaselineKey key{"o", "app", "m"};

  TEST_CASE("with best effort about, only an undisturbed window is learned") {
    BaselineTable table;
    auto w = t22();
    w.be_used = MilliCpu{500};
    learn(table, w, degree(w), "o", "m", 1, c);
    CHECK(table.empty());
    for (auto stop : {1, 2, 3}) {  // one of three disturbs
      auto quiet = t22();
      quiet.be_used = MilliCpu{500};
      quiet.wait = 0s;
      quiet.wait_p95 = 0s;
      quiet.cpu = stop == 1 ? StallShare{0, 6} : StallShare{0, 0};
      quiet.memory = stop == 2 ? StallShare{9, 0} : StallShare{0, 0};
      quiet.io = stop == 3 ? StallShare{0, 9} : StallShare{0, 0};
      learn(table, quiet, degree(quiet), "o", "m", 1, c);
      CHECK(table.empty());
      quiet.cpu = quiet.memory = quiet.io = StallShare{0, 0};
      BaselineTable fresh;
      learn(fresh, quiet, degree(quiet), "o", "m", 1, c);
      CHECK(fresh.at(key).cpi.samples == 1);
    }
  }
  TEST_CASE("a high CPI does not keep itself from being learned: only C, P and I count") {
    auto w = t22();
    w.be_used = MilliCpu{500};
    w.wait = 0s;
    w.wait_p95 = 0s;
    w.cpu = w.memory = w.io = StallShare{0, 0};
    const auto d = degree(w, kConfirmed);
    CHECK(d.degree.value() > 0);
    BaselineTable table;
    learn(table, w, d, "o", "m", 1, c);
    CHECK(table.at(key).cpi.samples == 1);
  }
  TEST_CASE("without best effort every window is learned; use that is not known is not none") {
    BaselineTable table;
    auto w = t22();
    w.be_used.reset();
    learn(table, w, degree(w), "o", "m", 1, c);
    CHECK(table.empty());
    w.be_used = MilliCpu{-5};
    learn(table, w, degree(w), "o", "m", 1, c);
    CHECK(table.empty());
    w.be_used = MilliCpu{0};
    learn(table, w, degree(w), "o", "m", 1, c);
    CHECK(table.at(key).cpi.mean == doctest::Approx(2.2));
    CHECK(table.at(key).llc.mean == doctest::Approx(0.4));
  }
  TEST_CASE("nothing known of the CPU is not undisturbed") {
    BaselineTable table;
    auto w = empty_window();
    w.micro = t22().micro;
    w.be_used = MilliCpu{500};
    w.memory = w.io = StallShare{0, 0};
    learn(table, w, degree(w), "o", "m", 1, c);
    CHECK(table.empty());
    w.cpu = StallShare{0, 0};
    learn(table, w, degree(w), "o", "m", 1, c);
    CHECK(table.size() == 1);
  }
  TEST_CASE("less than a quarter of a core, damaged counts and names that are empty: not learned") {
    BaselineTable table;
    auto w = t22();
    w.be_used = MilliCpu{0};
    w.micro[0].used = MilliCpu{249};
    learn(table, w, degree(w), "o", "m", 1, c);
    w.micro[0].used = MilliCpu{250};
    for (const double bad : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
      w.micro[0].cpi = bad;
      learn(table, w, degree(w), "o", "m", 1, c);
    }
    w.micro[0].cpi = 2;
    learn(table, w, degree(w), "", "m", 1, c);
    w.micro[0].container = "";
    learn(table, w, degree(w), "o", "m", 1, c);
    CHECK(table.empty());
    w.micro[0].container = "app";
    w.micro[0].llc_miss_ratio = 1.5;
    learn(table, w, degree(w), "o", "m", 1, c);
    CHECK(table.at(key).cpi.samples == 1);
    CHECK(table.at(key).llc.samples == 0);
  }
  TEST_CASE("pods of one owner learn together, each container for itself") {
    BaselineTable table;
    auto w = t22();
    w.be_used = MilliCpu{0};
    w.micro.push_back({"side", MilliCpu{500}, 1.0, std::nullopt});
    learn(table, w, degree(w), "o", "m", 1, c);  // one pod
    learn(table, w, degree(w), "o", "m", 1, c);  // another one
    CHECK(table.size() == 2);
    CHECK(table.at(key).cpi.samples == 2);
    CHECK(table.at({"o", "side", "m"}).cpi.mean == doctest::Approx(1));
  }
  TEST_CASE("the ones not learned from for longest go first when there are too many") {
    BaselineTable table;
    for (const int day : {14, 10, 13, 11, 12})
      table[{"o" + std::to_string(day), "c", "m"}].cpi.learn(1, day);
    trim_baselines(table, 7);
    CHECK(table.size() == 5);
    trim_baselines(table, 2);
    CHECK(table.size() == 2);
    CHECK(table.contains({"o13", "c", "m"}));
    CHECK(table.contains({"o14", "c", "m"}));
    trim_baselines(table, 0);
    CHECK(table.empty());
  }
}
