#include "store/quantile_sketch.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include <doctest/doctest.h>

#include "store/window.hpp"

using namespace koordlet::store;

namespace {

constexpr auto kLowest = std::numeric_limits<std::int64_t>::min();
constexpr auto kHighest = std::numeric_limits<std::int64_t>::max();

using Values = std::vector<std::int64_t>;

QuantileSketch sketch_of(const Values& values) {
  QuantileSketch out;
  for (const auto v : values) out.add(v);
  return out;
}

std::string bytes_of(const QuantileSketch& sketch) {
  std::string out;
  sketch.append_to(out);
  return out;
}

// The sample of each rank, within one percent of it.
void check_against(Values values, const QuantileSketch& sketch) {
  std::sort(values.begin(), values.end());
  REQUIRE(sketch.count() == values.size());
  for (int permille = 0; permille <= 1000; ++permille) {
    const double q = permille / 1000.0;
    const auto exact = static_cast<double>(values[rank_index(values.size(), q)]);
    const auto got = sketch.quantile(q);
    if (std::abs(got - exact) <= std::abs(exact) * 0.01) continue;
    CAPTURE(q);
    CAPTURE(exact);
    CHECK(got == exact);
  }
}

struct Distribution {
  const char* name;
  std::function<std::int64_t(std::mt19937_64&)> draw;
};

const std::vector<Distribution>& distributions() {
  static const std::vector<Distribution> all{
      {"uniform", [](auto& r) { return static_cast<std::int64_t>(r() % 100'000); }},
      {"small and zero", [](auto& r) { return static_cast<std::int64_t>(r() % 7); }},
      {"either sign",
       [](auto& r) { return static_cast<std::int64_t>(r() % 2'000'001) - 1'000'000; }},
      {"normal around zero",
       [](auto& r) {
         return static_cast<std::int64_t>(std::normal_distribution<>{0, 5000}(r));
       }},
      {"log-normal",
       [](auto& r) {
         return static_cast<std::int64_t>(std::lognormal_distribution<>{10, 3}(r));
       }},
      {"negative only",
       [](auto& r) {
         return -1 - static_cast<std::int64_t>(std::exponential_distribution<>{1e-9}(r));
       }},
      {"two humps far apart",
       [](auto& r) {
         const auto low = static_cast<std::int64_t>(r() % 100);
         return r() % 3 == 0 ? 1'000'000'000'000'000'000 + low : low;
       }},
      {"all of 63 bits", [](auto& r) { return static_cast<std::int64_t>(r() >> (1 + r() % 63)); }},
  };
  return all;
}

}  // namespace

TEST_SUITE("store/quantile_sketch") {
  TEST_CASE("every quantile is within 1 % of the sample of its rank") {
    std::mt19937_64 random{17};
    for (const auto& d : distributions()) {
      CAPTURE(d.name);
      for (const std::size_t count : {1U, 2U, 10U, 1000U, 50'000U}) {
        CAPTURE(count);
        Values values;
        for (std::size_t i = 0; i < count; ++i) values.push_back(d.draw(random));
        check_against(values, sketch_of(values));
      }
    }
  }

  TEST_CASE("every single value is within 1 %, zero and the smallest are themselves") {
    for (const std::int64_t v : {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1}}) {
      CHECK(std::llround(sketch_of({v}).quantile(0.5)) == v);
    }
    CHECK(sketch_of({0}).quantile(1) == 0);
    Values edges{kLowest, kLowest + 1, kHighest, 1'000'000'000'000'000'000};
    for (std::int64_t v = 2; v < 100'000; ++v) edges.push_back(v);
    for (int bit = 17; bit < 63; ++bit) {
      const auto v = std::int64_t{1} << bit;
      for (const auto near : {v - 1, v, v + 1, -v}) edges.push_back(near);
    }
    for (const auto v : edges) {
      const auto exact = static_cast<double>(v);
      const auto got = QuantileSketch::value_of(QuantileSketch::bin_of(v));
      if (std::abs(got - exact) <= std::abs(exact) * 0.01) continue;
      CAPTURE(v);
      CHECK(got == exact);
    }
  }

  TEST_CASE("bins have the order of the values") {
    CHECK(QuantileSketch::bin_of(0) == 0);
    CHECK(QuantileSketch::bin_of(1) == 1);
    CHECK(QuantileSketch::bin_of(-1) == -1);
    auto before = QuantileSketch::bin_of(kLowest);
    for (const std::int64_t v : {-(1LL << 40), -1000LL, -2LL, -1LL, 0LL, 1LL, 2LL, 1000LL}) {
      CHECK(QuantileSketch::bin_of(v) > before);
      before = QuantileSketch::bin_of(v);
    }
    CHECK(QuantileSketch::bin_of(kHighest) > before);
  }

  TEST_CASE("merged sketches say what one of all values says, in any order") {
    std::mt19937_64 random{23};
    for (const auto& d : distributions()) {
      CAPTURE(d.name);
      std::vector<QuantileSketch> parts(7);
      Values values;
      for (int i = 0; i < 5000; ++i) {
        values.push_back(d.draw(random));
        parts[random() % parts.size()].add(values.back());
      }
      QuantileSketch forth, back;
      for (const auto& p : parts) forth.merge(p);
      for (auto p = parts.rbegin(); p != parts.rend(); ++p) back.merge(*p);
      CHECK(bytes_of(forth) == bytes_of(sketch_of(values)));
      CHECK(bytes_of(back) == bytes_of(forth));
      check_against(values, forth);
    }
    QuantileSketch one = sketch_of({3});
    one.merge({});
    CHECK(one.count() == 1);
  }

  TEST_CASE("values of all 64 bits fit the bound of bins, and every quantile keeps its own") {
    Values values;
    for (int bit = 0; bit < 63; ++bit) {
      for (int step = 0; step < 100; ++step) {
        const auto v = static_cast<std::int64_t>(std::ldexp(1.0 + step / 100.0, bit));
        values.push_back(v);
        values.push_back(-v);
      }
    }
    std::shuffle(values.begin(), values.end(), std::mt19937{1});
    const auto sketch = sketch_of(values);
    CHECK(sketch.count() == values.size());
    CHECK(sketch.bins() <= QuantileSketch::kMaxBins);
    CHECK(QuantileSketch::bin_of(kHighest) == QuantileSketch::kHighestBin);
    CHECK(QuantileSketch::bin_of(kLowest) == -QuantileSketch::kHighestBin);
    check_against(values, sketch);
  }

  TEST_CASE("a value added many times counts as often") {
    QuantileSketch many;
    many.add(10, 99);
    many.add(1000);
    many.add(5, 0);
    CHECK(many.count() == 100);
    CHECK(std::llround(many.quantile(0.99)) == 10);
    CHECK(std::abs(many.quantile(1) - 1000) <= 10);
  }

  TEST_CASE("docs example: 0, 1, 1, 2 take five bytes") {
    // Bins 0, 1 and 2 + ceil(ln 2 / ln gamma) - 1 = 37; gamma = 1.0099 / 0.9901.
    REQUIRE(QuantileSketch::bin_of(2) == 37);
    // 3 bins | bin 0, once | 1 behind: distance - 1 = 0, counted, 2 | distance - 1 = 35, once.
    CHECK(bytes_of(sketch_of({1, 0, 2, 1})) == std::string("\x03\x00\x01\x02\x46", 5));
  }

  TEST_CASE("a stored sketch comes back, and only its own bytes are taken") {
    std::mt19937_64 random{29};
    for (const auto& d : distributions()) {
      CAPTURE(d.name);
      Values values;
      for (int i = 0; i < 3000; ++i) values.push_back(d.draw(random));
      auto bytes = bytes_of(sketch_of(values));
      const auto size = bytes.size();
      bytes += "next";
      std::string_view view = bytes;
      QuantileSketch got;
      REQUIRE(got.merge_from(view));
      CHECK(view == "next");
      CHECK(bytes_of(got) == bytes.substr(0, size));
      view = bytes;
      REQUIRE(QuantileSketch::skip(view));
      CHECK(view == "next");
    }
    std::string_view none{"\0", 1};
    QuantileSketch empty;
    CHECK(empty.merge_from(none));
    CHECK(empty.count() == 0);
  }

  TEST_CASE("damaged bytes are refused, never more than the bound of memory is taken") {
    const auto refused = [](std::string_view bytes) {
      QuantileSketch s;
      return !s.merge_from(bytes);
    };
    CHECK(refused(""));
    CHECK(refused({"\x01", 1}));
    CHECK(refused({"\x01\x01", 2}));                          // a count that is missing
    CHECK(refused({"\x01\x01\x00", 3}));                      // counted, none
    CHECK(refused({"\xFF\xFF\xFF\x7F\x00", 5}));              // more bins than there are
    CHECK(refused({"\x01\xFE\xFF\xFF\xFF\xFF\x7F", 7}));      // a bin beyond 64 bits
    CHECK(refused({"\x01\x01\xFF\xFF\xFF\xFF\x7F", 7}));      // more samples than a minute holds
    CHECK(refused({"\x02\x00\xFE\xFF\xFF\xFF\xFF\x7F", 8}));  // a distance beyond
    const auto whole = bytes_of(sketch_of({-5, -5, 0, 7, 7, 1'000'000, kHighest}));
    for (std::size_t cut = 0; cut < whole.size(); ++cut) CHECK(refused(whole.substr(0, cut)));
    for (std::size_t at = 0; at < whole.size(); ++at) {
      for (int flip = 0; flip < 256; ++flip) {
        auto bytes = whole;
        bytes[at] = static_cast<char>(flip);
        QuantileSketch s;
        std::string_view view = bytes;
        const bool ok = s.merge_from(view);
        CHECK(s.bins() <= QuantileSketch::kMaxBins);
        std::string_view skipped = bytes;
        if (ok) CHECK(QuantileSketch::skip(skipped));
      }
    }
  }
}
