#include "policy/predict_histogram.hpp"

#include <chrono>
#include <limits>

#include <doctest/doctest.h>

using namespace koordlet::policy;
using namespace std::chrono_literals;

namespace {

constexpr double kGi = 1073741824;
// 2023-11-14 12:00 UTC, a multiple of 12 hours.
constexpr PredictTime kNoon{1699963200};

DecayingHistogram cpu(std::chrono::seconds half_life = 12h) { return {kCpuBuckets, half_life}; }

double upper(const BucketScheme& s, double v) {
  const int b = s.bucket_of(v);
  return s.start(b + 1 < s.count() ? b + 1 : b);
}

}  // namespace

TEST_SUITE("policy/predict histogram") {
  TEST_CASE("T14: buckets of CPU") {
    CHECK(kCpuBuckets.count() == 158);
    CHECK(kCpuBuckets.start(157) == doctest::Approx(1060.4378860262));
    struct Row {
      double value;
      int bucket;
      double end;
    };
    for (const auto& [v, bucket, end] : {Row{0, 0, 0.025},
                                         Row{0.0249, 0, 0.025},
                                         Row{0.025, 1, 0.05125},
                                         Row{0.1, 3, 0.10775313},
                                         Row{0.5, 14, 0.53946409},
                                         Row{1, 22, 1.03576178},
                                         Row{2, 32, 2.00159427},
                                         Row{4, 45, 4.21712909},
                                         Row{8, 58, 8.39485043},
                                         Row{64, 99, 65.25062892},
                                         Row{1024, 156, 1060.43788603},
                                         Row{5000, 157, 1060.43788603}}) {
      CHECK(kCpuBuckets.bucket_of(v) == bucket);
      CHECK(upper(kCpuBuckets, v) == doctest::Approx(end).epsilon(1e-7));
    }
  }
  TEST_CASE("T14: buckets of memory; pitfall 149: 8 GiB does not end at 2 GiB") {
    CHECK(kMemoryBuckets.count() == 205);
    CHECK(kMemoryBuckets.start(204) == doctest::Approx(2203922208858.54));
    CHECK(kMemoryBuckets.bucket_of(100 * 1048576.0) == 14);
    CHECK(upper(kMemoryBuckets, kGi) == doctest::Approx(1097586419.77));
    CHECK(kMemoryBuckets.bucket_of(2 * kGi) == 62);
    CHECK(upper(kMemoryBuckets, 16 * kGi) == doctest::Approx(17493669271.02));
    CHECK(kMemoryBuckets.bucket_of(2199023255552.0) == 203);
    DecayingHistogram h{kMemoryBuckets, 24h};
    h.add(kNoon, 8 * kGi);
    CHECK(h.percentile(0.98) >= 8 * kGi);
  }
  TEST_CASE("T14: another scheme") {
    const BucketScheme s{40, 1.5, 500};
    CHECK(s.count() == 6);
    const double starts[] = {0, 40, 100, 190, 325, 527.5};
    for (int b = 0; b < 6; ++b) CHECK(s.start(b) == doctest::Approx(starts[b]));
    CHECK(s.bucket_of(39.99) == 0);
    CHECK(s.bucket_of(900) == 5);
  }
  TEST_CASE("T15: a sample weighs double that of one half-life before") {
    auto h = cpu();
    h.add(kNoon, 4);
    h.add(kNoon + 12h, 2);
    h.add(kNoon + 24h, 1);
    CHECK(h.total() == doctest::Approx(7));
    CHECK(h.percentile(0.5) == doctest::Approx(1.03576178));
    CHECK(h.percentile(0.6) == doctest::Approx(2.00159427));
    for (const double p : {0.9, 0.95, 0.98, 1.0})
      CHECK(h.percentile(p) == doctest::Approx(4.21712909));
  }
  TEST_CASE("T16: percentiles over buckets one wide") {
    DecayingHistogram h{BucketScheme{1, 1, 20}, 1h};
    for (int i = 1; i <= 4; ++i) h.add(kNoon + i * 1h, i, i);
    const double want[][2] = {{0.02, 2}, {0.03, 3}, {0.10, 3}, {0.11, 4}, {0.34, 4}, {0.35, 5}};
    for (const auto& w : want) CHECK(h.percentile(w[0]) == doctest::Approx(w[1]));
  }
  TEST_CASE("the first sample moves the reference to a multiple of the half-life") {
    auto c = cpu();
    c.add(kNoon - 2h, 1);
    CHECK(c.reference() == kNoon);
    CHECK(c.total() == doctest::Approx(0.890899));
    DecayingHistogram m{kMemoryBuckets, 24h};
    m.add(kNoon - 2h, kGi);
    CHECK(m.reference() == kNoon - 12h);
    CHECK(m.total() == doctest::Approx(1.334840));
  }
  TEST_CASE("after a hundred half-lives the weights are scaled back and old ones are gone") {
    auto h = cpu(1h);
    h.add(kNoon, 8);
    h.add(kNoon + 101h, 1);
    CHECK(h.reference() == kNoon + 101h);
    CHECK(h.total() == doctest::Approx(1));
    CHECK(h.percentile(1) == doctest::Approx(1.03576178));
  }
  TEST_CASE("T17: saved weights") {
    auto h = cpu();
    h.add(kNoon, 1, 4);
    h.add(kNoon, 2, 2);
    h.add(kNoon, 4, 1);
    const auto saved = h.save();
    CHECK(saved.weights == std::map<int, std::uint32_t>{{22, 10000}, {32, 5000}, {45, 2500}});
    CHECK(saved.total == doctest::Approx(7));
    auto back = cpu();
    REQUIRE(back.load(saved));
    CHECK(back.weight(22) == doctest::Approx(4));
    CHECK(back.weight(32) == doctest::Approx(2));
    CHECK(back.weight(45) == doctest::Approx(1));
    CHECK(back.reference() == h.reference());
  }
  TEST_CASE("a damaged save is refused and changes nothing") {
    auto h = cpu();
    h.add(kNoon, 1);
    const double before = h.total();
    const auto ref = kNoon.count();
    for (const auto& bad : {SavedHistogram{ref, {{158, 10000}}, 1},
                            SavedHistogram{ref, {{-1, 10000}}, 1},
                            SavedHistogram{ref, {{3, 10001}}, 1},
                            SavedHistogram{ref, {{3, 0}}, 1},
                            SavedHistogram{ref, {{3, 10000}}, 0},
                            SavedHistogram{ref, {{3, 10000}}, -1},
                            SavedHistogram{ref, {}, 1}}) {
      CHECK_FALSE(h.load(bad));
      CHECK(h.total() == before);
    }
  }
  TEST_CASE("values that are no amount are ignored; an empty histogram says 0") {
    auto h = cpu();
    h.add(kNoon, -1);
    h.add(kNoon, std::numeric_limits<double>::quiet_NaN());
    h.add(kNoon, std::numeric_limits<double>::infinity());
    CHECK(h.empty());
    CHECK(h.percentile(0.95) == 0);
  }
  TEST_CASE("floors 8.2: 0.06 cores end at 78 milli-cores") {
    auto h = cpu();
    h.add(kNoon, 0.06);
    CHECK(static_cast<int>(h.percentile(0.95) * 1000) == 78);
  }
  TEST_CASE("floors 8.3: p95 does not see a peak of 3.85 %, p98 does") {
    auto h = cpu();
    for (int i = 0; i < 100; ++i) h.add(kNoon, 1);
    h.add(kNoon + 24h, 4);
    CHECK(h.percentile(0.95) == doctest::Approx(1.03576178));
    CHECK(h.percentile(0.98) == doctest::Approx(4.21712909));
  }
  TEST_CASE("exact weights come back to the last bit, others are refused") {
    auto h = cpu();
    for (int i = 1; i < 40; ++i) h.add(kNoon + i * 1h, 0.1 * i);
    auto back = cpu();
    REQUIRE(back.load(h.reference(), h.weights()));
    CHECK(back.weights() == h.weights());
    CHECK(back.reference() == h.reference());
    CHECK(back.total() == doctest::Approx(h.total()));
    CHECK(back.percentile(0.95) == h.percentile(0.95));
    auto bad = h.weights();
    bad[3] = -1;
    CHECK(back.load(h.reference(), bad).error().code == koordlet::Errc::kParse);
    bad[3] = std::numeric_limits<double>::quiet_NaN();
    CHECK_FALSE(back.load(h.reference(), bad));
    bad.pop_back();
    bad[3] = 1;
    CHECK_FALSE(back.load(h.reference(), bad));
    CHECK(back.weights() == h.weights());
  }
}
