#include "base/cpu_conversion.hpp"

#include <limits>

#include <doctest/doctest.h>

using namespace koordlet;
using std::chrono::microseconds;

TEST_SUITE("cpu_conversion") {
  TEST_CASE("5.1: shares and quota of milli-cores") {
    struct Row {
      std::int64_t milli, shares, quota;
    };
    for (const auto& row : {Row{1, 2, 1000},
                            Row{5, 5, 1000},
                            Row{100, 102, 10'000},
                            Row{500, 512, 50'000},
                            Row{1000, 1024, 100'000},
                            Row{1500, 1536, 150'000},
                            Row{300'000, 262'144, 30'000'000}}) {
      CAPTURE(row.milli);
      CHECK(shares_of(MilliCpu{row.milli}) == row.shares);
      CHECK(quota_of(MilliCpu{row.milli}) == Limit{microseconds{row.quota}});
    }
  }

  TEST_CASE("5.1: zero and less is the smallest share and no quota") {
    for (const std::int64_t milli : {std::int64_t{0}, std::int64_t{-1}}) {
      CHECK(shares_of(MilliCpu{milli}) == 2);
      CHECK(quota_of(MilliCpu{milli}).is_unlimited());
    }
  }

  TEST_CASE("amounts beyond any machine saturate") {
    const MilliCpu huge{std::numeric_limits<std::int64_t>::max()};
    CHECK(shares_of(huge) == 262'144);
    CHECK(quota_of(huge).bound()->count() == std::numeric_limits<std::int64_t>::max());
  }

  TEST_CASE("another period") {
    CHECK(quota_of(MilliCpu{1500}, microseconds{50'000}) == Limit{microseconds{75'000}});
    CHECK(quota_of(MilliCpu{10}, microseconds{50'000}) == Limit{microseconds{1000}});
  }

  TEST_CASE("5.2: linear rule, shares to weight and back") {
    struct Row {
      std::int64_t shares, weight, back;
    };
    for (const auto& row : {Row{2, 1, 2},
                            Row{10, 1, 2},
                            Row{28, 1, 2},
                            Row{29, 2, 28},
                            Row{102, 4, 80},
                            Row{256, 10, 237},
                            Row{512, 20, 500},
                            Row{1024, 39, 998},
                            Row{2048, 79, 2046},
                            Row{4096, 157, 4091},
                            Row{8192, 313, 8181},
                            Row{16'384, 625, 16'361},
                            Row{102'400, 3906, 102'378},
                            Row{131'072, 5000, 131'059},
                            Row{262'144, 10'000, 262'144}}) {
      CAPTURE(row.shares);
      CHECK(weight_of(row.shares, WeightRule::kLinear) == row.weight);
      CHECK(shares_of_weight(row.weight, WeightRule::kLinear) == row.back);
    }
  }

  TEST_CASE("5.2: linear rule, weight to shares and back") {
    struct Row {
      std::int64_t weight, shares, back;
    };
    for (const auto& row : {Row{1, 2, 1},
                            Row{2, 28, 1},
                            Row{40, 1024, 39},
                            Row{100, 2597, 99},
                            Row{1000, 26'192, 999},
                            Row{9999, 262'117, 9998},
                            Row{10'000, 262'144, 10'000}}) {
      CAPTURE(row.weight);
      CHECK(shares_of_weight(row.weight, WeightRule::kLinear) == row.shares);
      CHECK(weight_of(row.shares, WeightRule::kLinear) == row.back);
    }
  }

  TEST_CASE("5.2: log rule") {
    struct Row {
      std::int64_t shares, weight;
    };
    for (const auto& row : {Row{2, 1},
                            Row{3, 2},
                            Row{102, 17},
                            Row{256, 35},
                            Row{512, 59},
                            Row{1024, 100},
                            Row{2048, 174},
                            Row{4096, 303},
                            Row{8192, 532},
                            Row{262'144, 10'000}}) {
      CAPTURE(row.shares);
      CHECK(weight_of(row.shares, WeightRule::kLog) == row.weight);
    }
  }

  TEST_CASE("both rules: out of range is clamped, the order is kept") {
    for (const auto rule : {WeightRule::kLinear, WeightRule::kLog}) {
      CHECK(weight_of(0, rule) == 1);
      CHECK(weight_of(1'000'000, rule) == 10'000);
      CHECK(shares_of_weight(0, rule) == 2);
      CHECK(weight_of(shares_of_weight(20'000, rule), rule) == 10'000);
      std::int64_t last = 1;
      for (std::int64_t shares = 2; shares <= 262'144; shares += 61) {
        const auto weight = weight_of(shares, rule);
        REQUIRE(weight >= last);
        last = weight;
      }
    }
  }

  TEST_CASE("log rule back: the fewest shares that give at least the weight") {
    CHECK(shares_of_weight(1, WeightRule::kLog) == 2);
    for (const std::int64_t weight : {2, 17, 39, 100, 101, 500, 9999, 10'000}) {
      CAPTURE(weight);
      const auto shares = shares_of_weight(weight, WeightRule::kLog);
      CHECK(weight_of(shares, WeightRule::kLog) >= weight);
      CHECK(weight_of(shares - 1, WeightRule::kLog) < weight);
    }
  }

  TEST_CASE("the rule is seen on a running container") {
    CHECK(detect_weight_rule(1024, 39) == WeightRule::kLinear);
    CHECK(detect_weight_rule(1024, 100) == WeightRule::kLog);
    CHECK_FALSE(detect_weight_rule(1024, 77));    // somebody else's value
    CHECK_FALSE(detect_weight_rule(2, 1));        // both rules say so
    CHECK_FALSE(detect_weight_rule(262'144, 1));  // none does
  }
}
