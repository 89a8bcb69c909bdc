// What happens to seals and roll-ups over time: expiry, restarts, a full map.
#include <random>

#include <doctest/doctest.h>

#include "support/metric_steps.hpp"

using namespace koordlet;
using namespace koordlet::store;
using namespace koordlet::test;
using namespace std::chrono_literals;
using std::chrono::hours;

namespace {

const MetricStore::Options kDays{hours{24}, hours{72}};

std::size_t samples_of(MetricStore& store, const SeriesKey& key) {
  return store.range(key, StoredTime{0}, StoredTime::max())->size();
}

}  // namespace

TEST_SUITE("store/metric_life") {
  TEST_CASE("samples go after the ttl, once rolled up; roll-ups go after the retention") {
    MetricFolder f{16 << 20, {hours{2}, hours{10}}};
    const auto end = fill(f.store(), 3400, 10s);  // nine hours and a half, from 22:15:23 on
    maintain(f.store(), end);
    REQUIRE(*f.store().expire(end) > 0);
    const auto raw = *f.store().range(kNode, kStart, end);
    CHECK(raw.size() >= 2 * 360);
    CHECK(raw.size() <= 2 * 360 + 60 + 1);  // the seal of ten minutes that the limit is in
    CHECK(f.store().summarize(kNode, kStart, end, {})->value().count == 3400);
    CHECK(*f.store().expire(end) == 0);
    CHECK(*f.store().expire(end + 2h) > 0);
    // The limit is at 23:42: the roll-ups of the hour before 23:00 are past it as a whole.
    const auto gone = (kStart - kStart % 1h + 1h - kStart) / 10s + 1;
    const auto left = *f.store().summarize(kNode, kStart, end, {});
    REQUIRE(left.has_value());
    CHECK(left->count == static_cast<std::size_t>(3400 - gone));
    CHECK(left->min == gone);
    CHECK(maintain(f.store(), end + 100h));
    REQUIRE(f.store().expire(end + 100h).has_value());
    CHECK(f.store().series()->empty());
    CHECK(entries_of(f, "rollups").empty());
    CHECK(entries_of(f, "seals").empty());
    CHECK(f.store().dropped_rows() == 0);
  }

  TEST_CASE("expiry counts a row once, also when its seal was just made") {
    MetricFolder f{16 << 20};
    const auto end = fill(f.store(), 30, 10s);
    CHECK_FALSE(maintain(f.store(), end + 20min, 3));  // scan, blocks, head: sealed, rows there
    REQUIRE(entries_of(f, "rows").size() == 30);
    REQUIRE(!entries_of(f, "seals").empty());
    CHECK(*f.store().expire(end + 2h) == 30);
  }

  TEST_CASE("a run killed after any step of sealing and rolling up loses nothing") {
    MetricFolder f{64 << 20, kDays};
    // More than one step a seal (32 Ki samples) and a roll-up (256 series).
    const auto end = fill(f.store(), 900, 1s, 300);
    bool done = false;
    for (int steps = 1; !done; ++steps) {
      REQUIRE(steps < 200);
      CAPTURE(steps);
      done = maintain(f.store(), end + 2h, steps);
      f.reopen();
      for (const int i : {0, 150, 299}) {
        const auto got = *f.store().range(pod(i), kStart, end);
        REQUIRE(got.size() == 900);
        CHECK(got[0].value == i);
        CHECK(got[899].value == 899'000 + i);
      }
      CHECK(f.store().summarize(pod(299), kStart - 1h, end, {})->value().count == 900);
      CHECK(f.store().damaged_rows() == 0);
    }
    CHECK(entries_of(f, "rows").empty());
    CHECK(!entries_of(f, "rollups").empty());
  }

  TEST_CASE("an id that seals or roll-ups hold is not given to another series") {
    MetricFolder f{16 << 20, {hours{1}, hours{4}}};
    auto end = fill(f.store(), 30, 10s, 1);  // the pod lives five minutes
    const auto add = [&](int rows, const SeriesKey& key) {
      for (int n = 0; n < rows; ++n) {
        end += 1min;
        REQUIRE(f.store().append({end, {{kNode, n}, {key, -n}}}).has_value());
        maintain(f.store(), end);
        REQUIRE(f.store().expire(end).has_value());
      }
    };
    add(120, pod(1));  // past the ttl: the first pod is in roll-ups only
    CHECK(samples_of(f.store(), pod(0)) == 0);
    CHECK(f.store().summarize(pod(0), kStart - 1min, end, {})->value().count == 30);
    CHECK(f.store().summarize(pod(1), kStart - 1min, end, {})->value().max == 0);
    add(240, pod(2));  // past the retention
    CHECK_FALSE(f.store().summarize(pod(0), kStart - 1min, end, {})->has_value());
    CHECK(*f.store().series() == std::vector<SeriesKey>{kNode, pod(1), pod(2)});
    add(10, pod(3));  // has the id of the first one by now
    CHECK(f.store().summarize(pod(3), kStart - 1min, end, {})->value().count == 10);
    f.reopen();
    CHECK(f.store().summarize(pod(3), kStart - 1min, end, {})->value().count == 10);
  }

  TEST_CASE("a batch a day ahead is taken, seals the day before it, and can be dropped") {
    MetricFolder f{16 << 20, {hours{48}, hours{72}}};
    const auto end = fill(f.store(), 100, 10s);
    REQUIRE(f.store().append({end + 24h, {{kNode, 7}}}).has_value());
    CHECK(f.store().append({end + 10s, {{kNode, 8}}}).has_error());  // back
    CHECK(f.store().append({end + 24h, {{kNode, 8}}}).has_error());  // the same again
    maintain(f.store(), end + 25h);
    CHECK(samples_of(f.store(), kNode) == 101);
    CHECK(*f.store().drop_after(end) == 1);
    CHECK(f.store().newest() == end);
    CHECK(*f.store().last(kNode) == TimedValue{end, 99});
    fill(f.store(), 200, 10s, 0, end + 10s);
    maintain(f.store(), end + 24h);
    CHECK(samples_of(f.store(), kNode) == 300);
    CHECK(f.store().summarize(kNode, kStart - 1h, end + 24h, {})->value().count == 300);
  }

  TEST_CASE("dropping what is after a time in the middle of a seal keeps every seal before") {
    MetricFolder f{16 << 20, kDays};
    const auto end = fill(f.store(), 1000, 10s);
    maintain(f.store(), end);
    const auto cut = kStart + 100min;
    CHECK(*f.store().drop_after(cut) > 0);
    const auto kept = *f.store().range(kNode, kStart, end);
    REQUIRE(!kept.empty());
    CHECK(kept.back().at <= cut);
    CHECK(kept.back().at > cut - 10min);
    CHECK(kept.size() == static_cast<std::size_t>(kept.back().value) + 1);
    REQUIRE(f.store().append({cut + 1s, {{kNode, 5}}}).has_value());
    f.reopen();
    CHECK(samples_of(f.store(), kNode) == kept.size() + 1);
  }

  TEST_CASE("a full map drops the oldest seals, counts each row, and keeps no gap") {
    MetricFolder f{1 << 20, {hours{24 * 365}, std::chrono::seconds{0}}};
    std::mt19937_64 random{3};
    const int batches = 4000;
    for (int n = 0; n < batches; ++n) {
      MetricBatch batch{kStart + n * 5s, {{kNode, n}}};
      for (int i = 0; i < 90; ++i) {
        batch.samples.push_back({pod(i), static_cast<std::int64_t>(random())});
      }
      const auto r = f.store().append(batch);
      if (!r) FAIL(r.error().context);
      REQUIRE(f.store().maintain(batch.at).has_value());
    }
    const auto kept = *f.store().range(kNode, kStart, StoredTime::max());
    REQUIRE(!kept.empty());
    CHECK(f.store().dropped_rows() > 0);
    CHECK(kept.size() + f.store().dropped_rows() == batches);
    CHECK(kept.front().value == static_cast<std::int64_t>(f.store().dropped_rows()));
    CHECK(kept.back().value == batches - 1);
    CHECK(kept.size() > 600);  // 91 values of 8 bytes a row in most of a megabyte: 1400
    CHECK(f.env().used_bytes() <= 1 << 20);
    f.reopen();
    CHECK(*f.store().range(kNode, kStart, StoredTime::max()) == kept);
  }

  TEST_CASE("a full map with roll-ups takes every batch and keeps the newest") {
    MetricFolder f{1 << 20, {hours{1}, hours{24 * 365}}};
    std::mt19937_64 random{5};
    for (int n = 0; n < 4000; ++n) {
      MetricBatch batch{kStart + n * 20s, {{kNode, n}}};
      for (int i = 0; i < 90; ++i) {
        batch.samples.push_back({pod(i), static_cast<std::int64_t>(random() >> 1)});
      }
      const auto r = f.store().append(batch);
      if (!r) FAIL(r.error().context);
      REQUIRE(f.store().maintain(batch.at).has_value());
    }
    CHECK(f.store().dropped_rows() > 0);
    CHECK(f.store().last(kNode)->value().value == 3999);
    CHECK(f.store().damaged_rows() == 0);
    ask(f.store(), kNode, StoredTime{0}, StoredTime::max());
  }
}
