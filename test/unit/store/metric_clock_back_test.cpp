// The clock was moved back before the start: what is later than now goes, nothing else changes.
#include <doctest/doctest.h>

#include "support/metric_steps.hpp"

using namespace koordlet;
using namespace koordlet::store;
using namespace koordlet::test;
using namespace std::chrono_literals;
using std::chrono::hours;

namespace {

constexpr StoredTime kHour = 472'222h;  // a full hour of stored time
const MetricStore::Options kDays{hours{24}, hours{72}};

std::uint64_t samples_until(MetricStore& store, StoredTime end) {
  const auto all = store.summarize(kNode, StoredTime{0}, end, {0.5});
  REQUIRE(all.has_value());
  return *all ? (*all)->count : 0;
}

}  // namespace

TEST_SUITE("store/metric_clock_back") {
  TEST_CASE("right after a seal, its rows still there: no row counts twice") {
    for (const auto back : {300s, 595s, 599s, 605s}) {
      CAPTURE(back.count());
      MetricFolder f{16 << 20, kDays};
      const auto end = fill(f.store(), 610, 1s, 0, kHour);
      while (entries_of(f, "seals").empty()) REQUIRE(*f.store().maintain(end));
      REQUIRE(entries_of(f, "rows").size() == 610);
      const auto dropped = f.store().drop_after(kHour + back);
      REQUIRE(dropped.has_value());
      const auto left = samples_until(f.store(), end);
      CHECK(*dropped + left == 610);
      CHECK(left <= static_cast<std::uint64_t>(back.count()) + 1);
    }
  }

  TEST_CASE("inside a rolled-up hour: its roll-up goes, the samples answer") {
    MetricFolder f{16 << 20, kDays};
    const auto end = fill(f.store(), 3660, 1s, 0, kHour);
    REQUIRE(maintain(f.store(), end));
    REQUIRE(!entries_of(f, "rollups").empty());
    const auto now = kHour + 3590s;
    REQUIRE(f.store().drop_after(now).has_value());
    CHECK(entries_of(f, "rollups").empty());
    // The seal that reaches beyond goes as a whole: 3000 s are left, from samples.
    CHECK(samples_until(f.store(), end) == 3000);
    const auto points = f.store().rollups(kNode, kHour, end);
    REQUIRE(points.has_value());
    for (const auto& p : *points) CHECK(p.at <= now);
  }

  TEST_CASE("the newest batch is in roll-ups only: time goes on behind their hour") {
    MetricFolder f{16 << 20, {hours{1}, hours{72}}};
    const auto end = fill(f.store(), 360, 10s, 0, kHour);
    REQUIRE(maintain(f.store(), kHour + 2h));
    REQUIRE(f.store().expire(end + 2h).has_value());
    REQUIRE(entries_of(f, "seals").empty());
    REQUIRE(entries_of(f, "rows").empty());
    REQUIRE(!entries_of(f, "rollups").empty());
    // A sample of the hour that is rolled up would be hidden behind the roll-up.
    CHECK(f.store().newest() == kHour + 3600s - 1ms);
    f.reopen();
    CHECK(f.store().newest() == kHour + 3600s - 1ms);
    CHECK_FALSE(f.store().append({kHour + 3550s, {{kNode, 1}}}).has_value());
    CHECK(f.store().append({kHour + 3600s, {{kNode, 1}}}).has_value());
    CHECK(samples_until(f.store(), kHour + 2h) == 361);
  }

  TEST_CASE("before the end of a rolled-up hour that has no later sample: what comes is seen") {
    MetricFolder f{16 << 20, kDays};
    const auto end = fill(f.store(), 1000, 1s, 0, kHour);
    REQUIRE(maintain(f.store(), kHour + 1h));  // the clock was ahead
    REQUIRE(!entries_of(f, "rollups").empty());
    const auto now = end + 5min;
    CHECK(f.store().newest().value() > now);
    CHECK(*f.store().drop_after(now) == 0);
    CHECK(f.store().newest() == end);
    CHECK(entries_of(f, "rollups").empty());
    REQUIRE(f.store().append({now + 1s, {{kNode, 7}}}).has_value());
    CHECK(samples_until(f.store(), now + 1h) == 1001);
    REQUIRE(maintain(f.store(), now + 2h));
    CHECK(samples_until(f.store(), now + 1h) == 1001);
  }
}
