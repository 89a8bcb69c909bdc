#include "policy/series_math.hpp"

#include <cmath>
#include <limits>
#include <numbers>

#include <doctest/doctest.h>

using namespace koordlet::policy;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr std::int64_t kHour = 3'600'000;

/// One point an hour.
SeriesPoints hourly(const std::vector<double>& values) {
  SeriesPoints out;
  for (std::size_t i = 0; i < values.size(); ++i)
    out.push_back({static_cast<std::int64_t>(i) * kHour, values[i]});
  return out;
}

}  // namespace

TEST_SUITE("series/rate") {
  TEST_CASE("growth over time") {
    CHECK(rate_per_second({{0, 100}, {10'000, 150}, {20'000, 300}}) == 10.0);
    CHECK(rate_per_second({{0, 5}, {1000, 5}}) == 0.0);
  }
  TEST_CASE("a counter that went back is a reset: neither growth nor time") {
    CHECK(rate_per_second({{0, 100}, {10'000, 200}, {20'000, 5}, {30'000, 105}}) == 10.0);
  }
  TEST_CASE("fewer than two samples, or resets only, are not enough") {
    CHECK_FALSE(rate_per_second({}));
    CHECK_FALSE(rate_per_second({{0, 5}}));
    CHECK_FALSE(rate_per_second({{0, 5}, {1000, 4}}));
    CHECK_FALSE(rate_per_second({{1000, 5}, {1000, 9}}));
  }
  TEST_CASE("NaN and infinities are no samples; time that goes back is no growth; 1e18 is fine") {
    CHECK(rate_per_second({{0, 0}, {500, kNan}, {700, kInf}, {1000, 10}}) == 10.0);
    CHECK_FALSE(rate_per_second({{1000, 0}, {0, 10}}));
    CHECK(rate_per_second({{0, -1e18}, {1000, 1e18}}) == 2e18);
  }
}

TEST_SUITE("series/trend") {
  TEST_CASE("Student's t at the critical values of the table") {
    struct Row {
      double freedom, t, p;
    };
    for (const Row& r : {Row{1, 12.7062, .05},
                         Row{3, 3.18245, .05},
                         Row{10, 2.22814, .05},
                         Row{30, 2.75000, .01},
                         Row{1e6, 1.95997, .05}}) {
      CAPTURE(r.freedom);
      CHECK(student_p(r.t, r.freedom) == doctest::Approx(r.p).epsilon(1e-4));
      CHECK(student_p(-r.t, r.freedom) == doctest::Approx(r.p).epsilon(1e-4));
    }
    CHECK(student_p(0, 5) == doctest::Approx(1));
    CHECK(student_p(kInf, 5) == 0);
    CHECK(student_p(kNan, 5) == 1);
  }
  TEST_CASE("0, 1, 0, 1 an hour: slope 0.2 by hand, t = 0.7071, p = 0.5528: flat") {
    const auto t = trend(hourly({0, 1, 0, 1}));
    REQUIRE(t);
    CHECK(t->slope_per_hour == doctest::Approx(0.2));
    CHECK(t->p_value == doctest::Approx(1 - std::sqrt(0.5) / std::sqrt(2.5)));
    CHECK(t->direction == Direction::kFlat);
    CHECK(t->points == 4);
    CHECK(t->effective_points == 4);  // the residuals alternate: no correlation to take off
  }
  TEST_CASE("a line rises and falls with its sign, whatever the level of significance") {
    const auto up = trend(hourly({1, 3, 5, 7}), 1e-12);
    REQUIRE(up);
    CHECK(up->slope_per_hour == doctest::Approx(2));
    CHECK(up->direction == Direction::kRising);
    CHECK(trend(hourly({7, 5, 3, 1}))->direction == Direction::kFalling);
  }
  TEST_CASE("noise on a clear slope is still a slope; the same noise alone is flat") {
    std::vector<double> sloped, level;
    for (int i = 0; i < 40; ++i) {
      const double noise = i % 2 == 0 ? 5 : -5;
      sloped.push_back(i * 1.0 + noise);
      level.push_back(100 + noise);
    }
    CHECK(trend(hourly(sloped))->direction == Direction::kRising);
    CHECK(trend(hourly(level))->direction == Direction::kFlat);
  }
  TEST_CASE("one slow swing is no trend, though its samples are many") {
    std::vector<double> swing;
    for (int i = 0; i < 360; ++i) swing.push_back(std::sin(2 * std::numbers::pi * i / 360));
    const auto t = trend(hourly(swing));
    REQUIRE(t);
    CHECK(t->effective_points < 3);
    CHECK(t->direction == Direction::kFlat);
  }
  TEST_CASE("a constant is flat") {
    const auto t = trend(hourly({5, 5, 5, 5}));
    REQUIRE(t);
    CHECK(t->direction == Direction::kFlat);
    CHECK(t->slope_per_hour == 0);
    CHECK(t->p_value == 1);
  }
  TEST_CASE("fewer than three samples, or all at one time, are not enough") {
    CHECK_FALSE(trend({}));
    CHECK_FALSE(trend(hourly({1, 2})));
    CHECK_FALSE(trend({{5, 1}, {5, 2}, {5, 3}}));
    CHECK_FALSE(trend(hourly({1, kNan, 2})));
  }
  TEST_CASE("NaN is no sample; values of 1e18 at epoch times keep their slope") {
    const auto t = trend({{0, 1}, {kHour, kNan}, {2 * kHour, 3}, {4 * kHour, 5}});
    REQUIRE(t);
    CHECK(t->slope_per_hour == doctest::Approx(1));
    constexpr std::int64_t kEpoch = 1'767'000'000'000;
    const auto huge = trend({{kEpoch, 1e18}, {kEpoch + kHour, 2e18}, {kEpoch + 2 * kHour, 3e18}});
    REQUIRE(huge);
    CHECK(huge->slope_per_hour == doctest::Approx(1e18));
    CHECK(huge->direction == Direction::kRising);
  }
  TEST_CASE("a long series is averaged down to a bounded one with the same line") {
    TrendPoints all;
    constexpr std::int64_t kEpoch = 1'767'000'000'000;
    for (int i = 0; i < 100'000; ++i) all.add({kEpoch + i * 1000, i * 2.0});
    CHECK(all.points().size() <= TrendPoints::kMost);
    CHECK(all.points().size() >= TrendPoints::kMost / 2 - 1);
    const auto t = trend(all.points());
    REQUIRE(t);
    CHECK(t->slope_per_hour == doctest::Approx(7200));
    CHECK(t->direction == Direction::kRising);
  }
}
