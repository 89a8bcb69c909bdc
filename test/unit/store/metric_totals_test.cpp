#include <string>

#include <doctest/doctest.h>

#include "support/metric_folder.hpp"

using namespace koordlet;
using namespace koordlet::store;
using koordlet::test::MetricFolder;

namespace {

constexpr StoredTime kHour = std::chrono::hours{1};
constexpr StoredTime kStart = 400'000 * kHour;
const SeriesKey kNode{"node_cpu_usage", ""}, kPod{"pod_cpu_usage", "u1"};

void append(MetricFolder& f, StoredTime at, std::vector<MetricSample> samples) {
  REQUIRE(f.store().append({at, std::move(samples)}));
}
void drain(MetricFolder& f, StoredTime now) {
  for (int i = 0; i < 1000; ++i) {
    const auto more = f.store().maintain(now);
    REQUIRE(more);
    if (!*more) return;
  }
  FAIL("maintenance does not end");
}

}  // namespace

TEST_SUITE("metric_store/totals") {
  TEST_CASE("nothing yet") {
    MetricFolder f;
    const auto t = f.store().totals();
    CHECK(t.series + t.rows + t.seals + t.sealed_series + t.sealed_samples + t.rolled_minutes == 0);
  }
  TEST_CASE(
      "rows become seals, an hour of seals becomes minutes, a reopen "
      "changes nothing") {
    MetricFolder f{16 << 20, {std::chrono::hours{2}, std::chrono::hours{72}}};
    // A row each minute of an hour, the pod in every second one.
    for (int minute = 0; minute < 60; ++minute) {
      const auto at = kStart + std::chrono::minutes{minute};
      std::vector<MetricSample> samples{{kNode, minute}};
      if (minute % 2 == 0) samples.push_back({kPod, minute});
      append(f, at, std::move(samples));
    }
    CHECK(f.store().totals().series == 2);
    CHECK(f.store().totals().rows == 60);
    CHECK(f.store().totals().seals == 0);
    drain(f, kStart + kHour - StoredTime{1});  // the last ten minutes go on
    CHECK(f.store().totals().rows == 10);
    CHECK(f.store().totals().seals == 5);
    append(f, kStart + kHour, {{kNode, 1}});
    drain(f, kStart + kHour);
    for (int run = 0; run < 2; ++run) {
      CAPTURE(run);
      const auto t = f.store().totals();
      CHECK(t.series == 2);
      CHECK(t.rows == 1);
      CHECK(t.seals == 6);
      CHECK(t.sealed_series == 12);
      CHECK(t.sealed_samples == 90);
      CHECK(t.rolled_minutes == 60);
      f.reopen();
    }
  }
}

TEST_SUITE("metric_store/names") {
  TEST_CASE("names as long as a page token holds are stored, longer ones refused") {
    MetricFolder f;
    const std::string longest(kMaxSeriesText, 'x');
    append(
        f, kStart, {{{longest, longest}, 1}, {{longest + "x", ""}, 2}, {{"k", longest + "x"}, 3}});
    CHECK(f.store().refused_samples() == 2);
    f.reopen();
    CHECK(f.store().damaged_rows() == 0);
    REQUIRE(f.store().series()->size() == 1);
    CHECK(f.store().last({longest, longest})->value().value == 1);
  }
}
