#include "policy/predict_score.hpp"

#include <limits>

#include <doctest/doctest.h>

using namespace koordlet::policy;

TEST_SUITE("policy/predict score") {
  TEST_CASE("violations, shortfall and over-provision by their definitions") {
    Score s;
    s.add(8, 10, 0.9);   // too low by 20 %
    s.add(12, 10, 0.9);  // 20 % too high
    s.add(15, 10, 0.9);  // 50 % too high
    s.add(10, 10, 0.9);  // exact is no violation
    CHECK(s.windows == 4);
    CHECK(s.violation_share() == doctest::Approx(0.25));
    CHECK(s.mean_shortfall() == doctest::Approx(0.2));
    CHECK(s.mean_over() == doctest::Approx((-0.2 + 0.2 + 0.5 + 0) / 4));
    CHECK(s.volume_over() == doctest::Approx(45.0 / 40 - 1));
    CHECK(s.within_share() == doctest::Approx(0.75));
    CHECK(s.mean_pinball() == doctest::Approx((0.9 * 0.2 + 0.1 * 0.2 + 0.1 * 0.5) / 4));
  }
  TEST_CASE("a peak of zero and a forecast that is no number have no ratio") {
    Score s;
    s.add(1, 0, 0.97);
    s.add(-1, 1, 0.97);
    s.add(std::numeric_limits<double>::quiet_NaN(), 1, 0.97);
    CHECK(s == Score{});
    CHECK(s.violation_share() == 0);
  }
  TEST_CASE("scores of series add up, and fade") {
    Score a, b;
    a.add(1, 2, 0.97);
    b.add(3, 2, 0.97);
    a += b;
    CHECK(a.windows == 2);
    CHECK(a.violation_share() == doctest::Approx(0.5));
    a.fade(0.5);
    a.add(3, 2, 0.97);
    CHECK(a.windows == 2);
    CHECK(a.violation_share() == doctest::Approx(0.25));
  }
}
