#include "store/window.hpp"

#include <cmath>
#include <limits>

#include <doctest/doctest.h>

using namespace koordlet::store;

namespace {

std::vector<TimedValue> samples(const std::vector<std::int64_t>& values) {
  std::vector<TimedValue> out;
  for (const auto v : values) {
    out.push_back({StoredTime{1000 + 10 * static_cast<std::int64_t>(out.size())}, v});
  }
  return out;
}

std::vector<std::int64_t> one_to(std::int64_t n) {
  std::vector<std::int64_t> out;
  for (std::int64_t i = n; i > 0; --i) out.push_back(i);  // not sorted the easy way
  return out;
}

}  // namespace

TEST_SUITE("store/window") {
  TEST_CASE("no sample is no aggregate, not zeros") { CHECK_FALSE(summarize({}).has_value()); }

  TEST_CASE("T13 by our rule: values 1..10") {
    // Nearest rank, index ceil(n p) - 1: p95 is the value at index 9 and p99 too. The floor rule of
    // the original (index floor(n p) - 1) takes index 8 for both: biased low, and it never returns
    // the maximum.
    const auto w = summarize(samples(one_to(10)));
    REQUIRE(w.has_value());
    CHECK(w->mean == 5.5);
    CHECK(w->p50 == 5);
    CHECK(w->p90 == 9);
    CHECK(w->p95 == 10);
    CHECK(w->p99 == 10);
    CHECK(w->count == 10);
    CHECK(w->min == 1);
    CHECK(w->max == 10);
    CHECK(w->last == 1);
    CHECK(w->first_at == StoredTime{1000});
    CHECK(w->last_at == StoredTime{1090});
  }

  TEST_CASE("T13 by our rule: one and two samples") {
    const auto one = summarize(samples({7}));
    CHECK(one->p50 == 7);
    CHECK(one->p99 == 7);
    CHECK(one->first_at == one->last_at);
    const auto two = summarize(samples({4, 9}));  // the floor rule says 4 everywhere
    CHECK(two->p50 == 4);
    CHECK(two->p90 == 9);
    CHECK(two->p99 == 9);
  }

  TEST_CASE("T13 by our rule: the ranks of 20, 60 and 300 samples") {
    struct Row {
      std::int64_t n, p50, p90, p95, p99;
    };
    // Values 1..n: the value is the rank, ceil(n p). Where n p is whole both rules agree.
    for (const Row& want : {Row{20, 10, 18, 19, 20},  // the floor rule's p99 is 19
                            Row{60, 30, 54, 57, 60},  // 59
                            Row{300, 150, 270, 285, 297}}) {
      CAPTURE(want.n);
      const auto w = summarize(samples(one_to(want.n)));
      CHECK(w->p50 == want.p50);
      CHECK(w->p90 == want.p90);
      CHECK(w->p95 == want.p95);
      CHECK(w->p99 == want.p99);
    }
  }

  TEST_CASE("pitfall 67: the mean of 1, 2, 3 is 2") {
    CHECK(summarize(samples({1, 2, 3}))->mean == 2.0);
  }

  TEST_CASE("sums beyond 64 bits and negative values do not wrap") {
    constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
    CHECK(summarize(samples({kMax, kMax, kMax}))->mean == static_cast<double>(kMax));
    const auto w = summarize(samples({-5, -1, 3}));
    CHECK(w->mean == -1.0);
    CHECK(w->min == -5);
    CHECK(w->p50 == -1);
  }
}

TEST_SUITE("store/window quantiles") {
  TEST_CASE("any quantile is a nearest rank; order and repeats of the question do not matter") {
    std::vector<std::int64_t> values;
    for (std::int64_t v = 100; v >= 1; --v) values.push_back(v);
    const auto q = exact_quantiles(values, {0.07, 0.99, 0, 1, 0.5, 0.5, 0.951});
    CHECK(q == std::vector<double>{7, 99, 1, 100, 50, 50, 96});
  }
  TEST_CASE("a quantile that is none is refused") {
    CHECK(check_quantiles({0, 0.5, 1}).has_value());
    for (const double q : {-0.1, 1.1, std::nan(""), HUGE_VAL}) {
      CAPTURE(q);
      CHECK(check_quantiles({0.5, q}).error().code == koordlet::Errc::kRange);
    }
  }
  TEST_CASE("pitfall 67: the mean is among the answers, 1, 2, 3 -> 2") {
    const auto s = summarize({{StoredTime{1}, 1}, {StoredTime{2}, 2}, {StoredTime{3}, 3}}, {});
    REQUIRE(s.has_value());
    CHECK(s->mean == 2);
    CHECK(s->exact);
  }
  TEST_CASE("minutes: each sample counts in its own") {
    const auto points =
        roll_up({{StoredTime{59'999}, 5}, {StoredTime{60'000}, 1}, {StoredTime{90'000}, 4}});
    CHECK(points == std::vector<RollupPoint>{{StoredTime{0}, 1, 5, 5, 5, 5},
                                             {StoredTime{60'000}, 2, 1, 4, 4, 2.5}});
  }
}
