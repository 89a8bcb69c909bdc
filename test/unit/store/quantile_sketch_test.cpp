#include "store/quantile_sketch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include <doctest/doctest.h>

#include "store/window.hpp"

using namespace koordlet::store;

namespace {

using Values = std::vector<std::int64_t>;

QuantileSketch of(const Values& values) {
  QuantileSketch s;
  for (const auto v : values) s.add(v);
  return s;
}

// The bound of the paper: within a share of the value at the same rank.
void check_bound(const QuantileSketch& sketch, Values values) {
  std::sort(values.begin(), values.end());
  REQUIRE(sketch.count() == values.size());
  for (const double q : {0.01, 0.25, 0.5, 0.9, 0.95, 0.99, 0.999}) {
    CAPTURE(q);
    const auto exact = static_cast<double>(values[rank_index(values.size(), q)]);
    CHECK(std::abs(sketch.quantile(q) - exact) <= 0.01 * std::abs(exact));
  }
}

Values drawn(std::uint32_t seed, std::size_t count, std::int64_t low, std::int64_t high) {
  std::mt19937_64 random{seed};
  std::uniform_int_distribution<std::int64_t> pick{low, high};
  Values out(count);
  for (auto& v : out) v = pick(random);
  return out;
}

}  // namespace

TEST_SUITE("store/quantile_sketch") {
  TEST_CASE("every quantile is within 1 % of the sample of its rank") {
    check_bound(of(drawn(1, 5000, 1, 100'000)), drawn(1, 5000, 1, 100'000));
    check_bound(of(drawn(2, 5000, 0, 30)), drawn(2, 5000, 0, 30));
    check_bound(of(drawn(3, 5000, -4000, 4000)), drawn(3, 5000, -4000, 4000));
    check_bound(of(drawn(4, 500, 1, std::numeric_limits<std::int64_t>::max())),
                drawn(4, 500, 1, std::numeric_limits<std::int64_t>::max()));
  }
  TEST_CASE("each bin holds what its middle is within 1 % of, to the ends of 64 bits") {
    for (int power = 0; power < 63; ++power) {
      for (const std::int64_t by : {-1, 0, 1}) {
        const auto v = (std::int64_t{1} << power) + by;
        if (v == 0) continue;
        CAPTURE(v);
        const auto near = QuantileSketch::value_of(QuantileSketch::bin_of(v));
        CHECK(std::abs(near - static_cast<double>(v)) <= 0.01 * static_cast<double>(v));
        CHECK(QuantileSketch::bin_of(-v) == -QuantileSketch::bin_of(v));
      }
    }
    CHECK(QuantileSketch::value_of(QuantileSketch::bin_of(0)) == 0);
    CHECK(QuantileSketch::bin_of(std::numeric_limits<std::int64_t>::min()) < -2000);
  }
  TEST_CASE("merged sketches say what one sketch of all values says") {
    const auto a = drawn(5, 700, -100, 5000), b = drawn(6, 300, 2000, 900'000);
    auto merged = of(a);
    merged.merge(of(b));
    Values all = a;
    all.insert(all.end(), b.begin(), b.end());
    const auto one = of(all);
    for (const double q : {0.0, 0.1, 0.5, 0.9, 1.0}) CHECK(merged.quantile(q) == one.quantile(q));
    check_bound(merged, all);
  }
  TEST_CASE("a stored sketch comes back, also several one behind the other") {
    const auto a = of(drawn(7, 60, -50, 400)), b = of({5}), c = of({0, 0, 0});
    std::string bytes;
    for (const auto* s : {&a, &b, &c}) s->append_to(bytes);
    std::string_view view = bytes;
    QuantileSketch first, third;
    REQUIRE(first.merge_from(view));
    REQUIRE(QuantileSketch::skip(view));
    REQUIRE(third.merge_from(view));
    CHECK(view.empty());
    CHECK(first.count() == 60);
    for (const double q : {0.0, 0.3, 0.9, 1.0}) CHECK(first.quantile(q) == a.quantile(q));
    CHECK(third.count() == 3);
    CHECK(third.quantile(0.5) == 0);
  }
  TEST_CASE("the number of bins is bounded, the highest values keep their bins") {
    QuantileSketch s;
    for (std::int64_t v = 1; v > 0 && v < (std::int64_t{1} << 62); v += v / 80 + 1) {
      s.add(v);
      s.add(-v);
    }
    CHECK(s.bins() <= QuantileSketch::kMaxBins);
    const auto top = static_cast<double>(std::int64_t{1} << 62);
    CHECK(s.quantile(1) > 0.95 * top);
  }
  TEST_CASE("damaged bytes are refused, and never read beyond") {
    std::string whole;
    of(drawn(8, 60, 1, 4000)).append_to(whole);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const std::vector<char> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      std::string_view view{cut.data(), cut.size()}, again = view;
      QuantileSketch s;
      CHECK_FALSE(s.merge_from(view));
      CHECK_FALSE(QuantileSketch::skip(again));
    }
    std::mt19937 random{9};
    for (int round = 0; round < 3000; ++round) {
      std::vector<char> bytes(random() % 40);
      for (auto& b : bytes) b = static_cast<char>(random());
      std::string_view view{bytes.data(), bytes.size()};
      QuantileSketch s;
      (void)s.merge_from(view);
    }
  }
}
