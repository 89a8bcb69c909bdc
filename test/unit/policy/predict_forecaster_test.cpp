#include "policy/predict_forecaster.hpp"

#include <cmath>
#include <limits>
#include <random>

#include <doctest/doctest.h>

using namespace koordlet::policy;
using namespace std::chrono_literals;

namespace {

constexpr PredictTime kStart{1700006400};  // 2023-11-15 00:00 UTC

/// One value each five minutes.
void feed(Forecaster& f, PredictTime& at, int slots, double (*value)(int)) {
  for (int i = 0; i < slots; ++i, at += 300s) f.observe(at, value(i));
}
double two(int) { return 2; }

}  // namespace

TEST_SUITE("policy/predict history") {
  TEST_CASE("a slot keeps its largest value; what was not seen is unknown") {
    PeakHistory h{300s};
    h.observe(kStart, 1);
    h.observe(kStart + 60s, 3);
    h.observe(kStart + 120s, 2);
    h.observe(kStart + 900s, 5);
    CHECK(h.peak(0) == 5);
    CHECK_FALSE(h.peak(1));
    CHECK_FALSE(h.peak(2));
    CHECK(h.peak(3) == 3);
    CHECK(h.peak(1, 3) == 3);
    CHECK(h.known(0, 3) == 2);
    CHECK_FALSE(h.peak(4, 200));
  }
  TEST_CASE("the day is a ring: what is older is gone, the week keeps its peak") {
    PeakHistory h{300s};
    h.observe(kStart, 9);
    for (int i = 1; i <= 288; ++i) h.observe(kStart + i * 300s, 1);
    CHECK(h.peak(0, 287) == 1);
    CHECK(*h.fading_peak(0.5) == doctest::Approx(4.5));
  }
  TEST_CASE("what observe makes of odd times and values") {
    PeakHistory h{300s};
    CHECK(h.observe(PredictTime{-1}, 1) == Observed::kRefused);
    CHECK(h.observe(kStart, -0.1) == Observed::kRefused);
    CHECK(h.observe(kStart, std::numeric_limits<double>::quiet_NaN()) == Observed::kRefused);
    CHECK(h.observe(kStart, 1) == Observed::kTaken);
    CHECK(h.observe(kStart - 10s, 7) == Observed::kLate);
    CHECK(h.peak(0) == 1);
    CHECK(h.observe(kStart - 301s, 7) == Observed::kRestarted);
    CHECK(h.peak(0) == 7);
    CHECK(h.observe(kStart + 48h, 2) == Observed::kRestarted);
    CHECK(h.known(0, 287) == 1);
  }
  TEST_CASE("a restored history refuses numbers that it cannot have left") {
    PeakHistory h{300s};
    h.observe(kStart, 1);
    auto saved = h.save();
    PeakHistory other{300s};
    CHECK(other.load(saved));
    CHECK(other.peak(0) == 1);
    saved.slots[3] = -2;
    CHECK_FALSE(other.load(saved));
    saved = h.save();
    saved.newest += 1;
    CHECK_FALSE(other.load(saved));
  }
}

TEST_SUITE("policy/predict rules") {
  TEST_CASE("floors 8.1: mean and sample deviation of five totals") {
    PeakHistory h{300s};
    int i = 0;
    for (const double v : {10, 12, 11, 13, 14}) h.observe(kStart + 300s * i++, v);
    const auto m = moments(h, 120);
    CHECK(m.count == 5);
    CHECK(m.mean == doctest::Approx(12));
    CHECK(m.sigma == doctest::Approx(1.58114));
    CHECK(m.mean + 5 * m.sigma == doctest::Approx(19.9057));
    CHECK(m.mean + 3 * m.sigma == doctest::Approx(16.7434));
  }
  TEST_CASE("below twelve slots nothing is forecast") {
    PeakHistory h{300s};
    DecayingHistogram d{kCpuBuckets, 12h};
    for (int i = 0; i < 11; ++i) h.observe(kStart + i * 300s, 1), d.add(kStart, 1);
    for (const auto& v : rule_forecasts(h, d, 12, 0.97)) CHECK_FALSE(v);
    h.observe(kStart + 11 * 300s, 1);
    CHECK(rule_forecasts(h, d, 12, 0.97)[static_cast<std::size_t>(Rule::kMaxHour)] == 1);
  }
  TEST_CASE("the extreme value rule grows with the number of blocks and with tau") {
    CHECK(gumbel_level(5, 0, 24, 0.97) == doctest::Approx(5));
    // beta = sqrt(6)/pi = 0.779697, mu = -0.450053; -ln(-ln 0.97) = 3.491367
    CHECK(gumbel_level(0, 1, 1, 0.97) == doctest::Approx(-0.450053 + 0.779697 * 3.491367));
    CHECK(gumbel_level(0, 1, 24, 0.97) ==
          doctest::Approx(-0.450053 + 0.779697 * (3.178054 + 3.491367)));
  }
  TEST_CASE("a line through rising slots") {
    PeakHistory h{300s};
    for (int i = 0; i < 20; ++i) h.observe(kStart + i * 300s, 1 + 0.5 * i);
    const auto t = peak_trend(h, 72);
    REQUIRE(t);
    CHECK(t->slope_per_slot == doctest::Approx(0.5));
    CHECK(t->level == doctest::Approx(10.5));
  }
  TEST_CASE("the seasonal rule sees what came at this time yesterday, once a day is there") {
    PeakHistory h{300s};
    DecayingHistogram d{kCpuBuckets, 12h};
    const auto at = [](int i) { return kStart + i * 300s; };
    const auto value = [](int slot_of_day) { return slot_of_day / 12 == 14 ? 8.0 : 1.0; };
    for (int i = 0; i < 14 * 12; ++i) h.observe(at(i), value(i % 288));
    const auto seasonal = static_cast<std::size_t>(Rule::kSeasonal);
    d.add(kStart, 1);
    CHECK_FALSE(rule_forecasts(h, d, 12, 0.97)[seasonal]);
    for (int i = 14 * 12; i < 288 + 10 * 12; ++i) h.observe(at(i), value(i % 288));
    CHECK(rule_forecasts(h, d, 12, 0.97)[seasonal] == 1);
    for (int i = 288 + 10 * 12; i < 288 + 14 * 12; ++i) h.observe(at(i), value(i % 288));
    CHECK(rule_forecasts(h, d, 12, 0.97)[seasonal] == 8);
  }
}

TEST_SUITE("policy/predict calibration") {
  TEST_CASE("the factor covers its share of the ratios seen") {
    RatioHistogram r;
    for (int i = 0; i < 90; ++i) r.add(1, 1, 1);
    for (int i = 0; i < 10; ++i) r.add(2, 1, 1);
    // many windows: the rank is nearly tau
    CHECK(*r.factor(0.85, 1000) == doctest::Approx(1).epsilon(0.03));
    CHECK(*r.factor(0.95, 1000) >= 2);
    CHECK(*r.factor(0.95, 1000) < 2.3);
    // of two windows only the largest ratio says something
    CHECK(*r.factor(0.85, 2) >= 2);
  }
  TEST_CASE("a rule that says too much is narrowed") {
    RatioHistogram r;
    for (int i = 0; i < 50; ++i) r.add(1, 4, 1);
    CHECK(*r.factor(0.97, 1000) >= 0.25);
    CHECK(*r.factor(0.97, 1000) < 0.29);
  }
  TEST_CASE("old ratios fade and are forgotten; zeros say nothing") {
    RatioHistogram r;
    r.add(50, 1, 1);
    r.add(0, 1, 1);
    r.add(1, 0, 1);
    CHECK(r.total() == 1);
    for (int i = 0; i < 100; ++i) r.add(1, 1, 0.9);
    CHECK(*r.factor(0.999, 1e9) < 1.1);
  }
  TEST_CASE("weights that are none are refused") {
    RatioHistogram r;
    auto w = r.weights();
    w[0] = -1;
    CHECK_FALSE(r.load(w));
    w[0] = std::numeric_limits<float>::quiet_NaN();
    CHECK_FALSE(r.load(w));
  }
}

TEST_SUITE("policy/predict forecaster") {
  TEST_CASE("a constant series is forecast as itself") {
    Forecaster f{{}};
    PredictTime at = kStart;
    feed(f, at, 11, two);
    CHECK_FALSE(f.forecast());
    feed(f, at, 1, two);
    REQUIRE(f.forecast());
    CHECK(f.forecast()->cold);
    CHECK(f.forecast()->peak == doctest::Approx(2));
    feed(f, at, 600, two);
    CHECK_FALSE(f.forecast()->cold);
    CHECK(f.forecast()->peak == doctest::Approx(2).epsilon(0.03));
    CHECK(f.score().violations == 0);
    CHECK(f.score().within_share() == doctest::Approx(1));
  }
  TEST_CASE("a series of zeros is forecast as next to nothing, never as no number") {
    Forecaster f{{}};
    PredictTime at = kStart;
    feed(f, at, 600, [](int) { return 0.0; });
    CHECK(f.forecast()->peak < 0.01);
    CHECK(f.forecast()->peak >= 0);
  }
  TEST_CASE("noise: about three of a hundred windows are above the forecast") {
    Forecaster f{{}};
    std::mt19937 random{7};
    std::gamma_distribution<double> noise{4, 0.5};
    PredictTime at = kStart;
    for (int i = 0; i < 288 * 28; ++i, at += 300s) f.observe(at, noise(random));
    CHECK(f.score().windows > 500);
    CHECK(f.score().violation_share() < 0.06);
    CHECK(f.score().violation_share() > 0.002);
  }
  TEST_CASE("a recording that starts at time zero has no forecast of the slot before") {
    Forecaster f{{}};
    PredictTime at{0};
    feed(f, at, 100, two);
    CHECK(f.score().windows <= 100 - 12 - 11);
    CHECK(f.forecast()->peak == doctest::Approx(2).epsilon(0.03));
  }
  TEST_CASE("a forecast knows nothing of what comes after it") {
    Forecaster a{{}}, b{{}};
    PredictTime at = kStart;
    feed(a, at, 400, [](int i) { return 2 + std::sin(i); });
    at = kStart;
    feed(b, at, 400, [](int i) { return 2 + std::sin(i); });
    const double before = a.forecast()->peak;
    b.observe(at, 500);
    CHECK(a.forecast()->peak == before);
    CHECK(b.forecast()->peak > before);
    a.observe(at, 2);
    CHECK(a.score() == b.score());  // the burst belongs to windows that have not ended
  }
  TEST_CASE("a clock that goes back, or a day without data, starts cold") {
    for (const auto jump : {-2h, 49h}) {
      Forecaster f{{}};
      PredictTime at = kStart;
      feed(f, at, 600, two);
      at += jump;
      CHECK(f.observe(at, 2) == Observed::kRestarted);
      CHECK_FALSE(f.forecast());
      CHECK(f.score() == Score{});
      CHECK(f.state().since == at);
    }
  }
  TEST_CASE("hours without data: windows over the gap are not scored, the cold rule joins in") {
    Forecaster f{{}};
    PredictTime at = kStart;
    feed(f, at, 600, two);
    at += 10h;
    feed(f, at, 1, two);  // ends the last window before the gap
    const double windows = f.score().windows;
    feed(f, at, 11, two);
    CHECK(f.score().windows == windows);
    CHECK(f.forecast()->cold);
  }
  TEST_CASE("memory is fixed: bytes do not grow with the data") {
    Forecaster f{{}};
    const auto before = f.bytes();
    PredictTime at = kStart;
    feed(f, at, 5000, [](int i) { return static_cast<double>(i % 97); });
    CHECK(f.bytes() == before);
    CHECK(before < 16384);
  }
  TEST_CASE("a restored state forecasts the same") {
    Forecaster f{{}}, g{{}};
    PredictTime at = kStart;
    feed(f, at, 2000, [](int i) { return 1.0 + i % 37; });
    g.restore(f.state());
    CHECK(g.forecast()->peak == f.forecast()->peak);
  }
}
