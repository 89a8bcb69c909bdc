#include "store/metric_store.hpp"

#include <algorithm>
#include <random>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "store/cursor.hpp"
#include "support/metric_folder.hpp"

using namespace koordlet;
using namespace koordlet::store;
using koordlet::test::MetricFolder;
using std::chrono::seconds;

namespace {

const SeriesKey kNode{"node_cpu_usage", ""};
const SeriesKey kPod{"pod_cpu_usage", "11111111-2222"};

StoredTime at(std::int64_t s) { return seconds{1'700'000'000 + s}; }

MetricBatch batch(std::int64_t s, std::vector<MetricSample> samples) {
  return {at(s), std::move(samples)};
}

}  // namespace

TEST_SUITE("store/metric_store") {
  TEST_CASE("an empty store knows no series: nothing, not zero") {
    MetricFolder f;
    CHECK_FALSE(f.store().last(kNode)->has_value());
    CHECK_FALSE(f.store().aggregate(kNode, at(0), at(10))->has_value());
    CHECK(f.store().range(kNode, at(0), at(10))->empty());
    CHECK(f.store().series()->empty());
    CHECK_FALSE(f.store().newest().has_value());
    CHECK(*f.store().expire(at(10'000)) == 0);
  }

  TEST_CASE("samples come back by series and window, both ends included") {
    MetricFolder f;
    for (int s = 0; s < 10; ++s) {
      std::vector<MetricSample> samples{{kNode, 100 + s}};
      if (s % 3 == 0) samples.push_back({kPod, -s});
      REQUIRE(f.store().append(batch(s, samples)).has_value());
    }
    CHECK(*f.store().range(kNode, at(2), at(4)) ==
          std::vector<TimedValue>{{at(2), 102}, {at(3), 103}, {at(4), 104}});
    CHECK(*f.store().range(kPod, at(1), at(9)) ==
          std::vector<TimedValue>{{at(3), -3}, {at(6), -6}, {at(9), -9}});
    CHECK(*f.store().last(kPod) == TimedValue{at(9), -9});
    CHECK(*f.store().last(kNode) == TimedValue{at(9), 109});
    const auto w = *f.store().aggregate(kNode, at(0), at(9));
    REQUIRE(w.has_value());
    CHECK(w->count == 10);
    CHECK(w->mean == 104.5);
    CHECK(w->p95 == 109);
    CHECK(w->first_at == at(0));
    CHECK(w->last_at == at(9));
    CHECK(*f.store().series() == std::vector<SeriesKey>{kNode, kPod});
  }

  TEST_CASE("a window without a sample of the series has no aggregate") {
    MetricFolder f;
    REQUIRE(f.store().append(batch(0, {{kNode, 1}, {kPod, 1}})).has_value());
    REQUIRE(f.store().append(batch(10, {{kNode, 1}})).has_value());
    CHECK_FALSE(f.store().aggregate(kPod, at(1), at(20))->has_value());
    CHECK_FALSE(f.store().aggregate(kNode, at(11), at(20))->has_value());
    CHECK_FALSE(f.store().aggregate(kNode, at(20), at(0))->has_value());
    CHECK_FALSE(f.store().aggregate({"node_cpu_usage", "x"}, at(0), at(20))->has_value());
    CHECK(f.store().aggregate(kNode, StoredTime::min(), StoredTime::max())->has_value());
  }

  TEST_CASE("time has to rise") {
    MetricFolder f;
    REQUIRE(f.store().append(batch(5, {{kNode, 1}})).has_value());
    for (const auto t : {at(5), at(4), StoredTime{-1}}) {
      CAPTURE(t.count());
      const auto r = f.store().append({t, {{kNode, 2}}});
      REQUIRE(r.has_error());
      CHECK(r.error().code == Errc::kRange);
    }
    CHECK(*f.store().last(kNode) == TimedValue{at(5), 1});
    f.reopen();
    CHECK(f.store().append(batch(5, {{kNode, 2}})).has_error());
    CHECK(f.store().append({at(5) + StoredTime{1}, {{kNode, 2}}}).has_value());
  }

  TEST_CASE("a batch without samples makes no row") {
    MetricFolder f;
    CHECK(f.store().append(batch(5, {})).has_value());
    CHECK_FALSE(f.store().newest().has_value());
    CHECK(f.store().append(batch(5, {{kNode, 1}})).has_value());
  }

  TEST_CASE("of two samples of one series in a batch the last one counts") {
    MetricFolder f;
    REQUIRE(f.store().append(batch(0, {{kNode, 1}, {kPod, 5}, {kNode, 2}})).has_value());
    CHECK(f.store().last(kNode)->value().value == 2);
    CHECK(f.store().range(kNode, at(0), at(0))->size() == 1);
    CHECK(f.store().last(kPod)->value().value == 5);
  }

  TEST_CASE("one sample with an absurd name does not cost the batch") {
    MetricFolder f;
    const SeriesKey absurd{"k", std::string(5000, 'x')};
    REQUIRE(f.store().append(batch(0, {{absurd, 1}, {kNode, 2}})).has_value());
    CHECK(f.store().refused_samples() == 1);
    CHECK(f.store().last(kNode)->value().value == 2);
    CHECK_FALSE(f.store().last(absurd)->has_value());
  }

  TEST_CASE("everything is there after a reopen, ids included") {
    MetricFolder f;
    REQUIRE(f.store().append(batch(0, {{kPod, 7}, {kNode, 1}})).has_value());
    REQUIRE(f.store().append(batch(1, {{kNode, 2}})).has_value());
    f.reopen();
    CHECK(*f.store().last(kPod) == TimedValue{at(0), 7});
    CHECK(*f.store().last(kNode) == TimedValue{at(1), 2});
    CHECK(f.store().newest() == at(1));
    REQUIRE(f.store().append(batch(2, {{{"new", "x"}, 9}, {kPod, 8}})).has_value());
    CHECK(f.store().range(kPod, at(0), at(9))->size() == 2);
    CHECK(f.store().range({"new", "x"}, at(0), at(9))->size() == 1);
    CHECK(f.store().series()->size() == 3);
  }

  TEST_CASE("samples in changing order and number keep to their series") {
    MetricFolder f;
    std::mt19937 random{3};
    std::vector<std::vector<TimedValue>> want(150);
    for (int s = 0; s < 100; ++s) {
      std::vector<MetricSample> samples;
      for (int i = 0; i < 150; ++i) {
        if (random() % 3 == 0) continue;
        const std::int64_t value = static_cast<std::int64_t>(random()) - (1LL << 31);
        samples.push_back({{"pod_memory_usage", fmt::format("pod{}", i)}, value});
        want[static_cast<std::size_t>(i)].push_back({at(s), value});
      }
      std::shuffle(samples.begin(), samples.end(), random);
      REQUIRE(f.store().append(batch(s, samples)).has_value());
      if (s % 30 == 29) f.reopen();
    }
    for (std::size_t i = 0; i < want.size(); ++i) {
      CAPTURE(i);
      const SeriesKey key{"pod_memory_usage", fmt::format("pod{}", i)};
      CHECK(*f.store().range(key, at(0), at(100)) == want[i]);
      CHECK(*f.store().last(key) == want[i].back());
    }
  }

  TEST_CASE("expiry drops what is older than the ttl, and no row more") {
    MetricFolder f;
    for (int s = 0; s < 100; ++s) REQUIRE(f.store().append(batch(s, {{kNode, s}})).has_value());
    CHECK(*f.store().expire(at(3600)) == 0);  // the first is exactly ttl old
    CHECK(*f.store().expire(at(3610)) == 10);
    CHECK(f.store().range(kNode, at(0), at(99))->front() == TimedValue{at(10), 10});
    CHECK(*f.store().expire(at(3610)) == 0);
    CHECK(f.store().dropped_rows() == 0);  // expired is not lost
  }

  TEST_CASE("pitfall 68: the series of a deleted pod goes with its last row") {
    MetricFolder f;
    for (int s = 0; s < 20; ++s) {
      std::vector<MetricSample> samples{{kNode, s}};
      if (s < 10) samples.push_back({kPod, s});
      REQUIRE(f.store().append(batch(s, samples)).has_value());
    }
    CHECK(*f.store().expire(at(3600 + 9)) == 9);
    CHECK(f.store().series()->size() == 2);
    CHECK(*f.store().expire(at(3600 + 10)) == 1);
    CHECK(*f.store().series() == std::vector<SeriesKey>{kNode});
    CHECK_FALSE(f.store().last(kPod)->has_value());
    f.reopen();
    CHECK(*f.store().series() == std::vector<SeriesKey>{kNode});
  }

  TEST_CASE("an id that comes back into use carries nothing of its first series") {
    MetricFolder f;
    REQUIRE(f.store().append(batch(0, {{kPod, 1}})).has_value());
    REQUIRE(f.store().append(batch(10, {{kNode, 2}})).has_value());
    REQUIRE(*f.store().expire(at(3605)) == 1);
    const SeriesKey next{"pod_cpu_usage", "next"};
    REQUIRE(f.store().append(batch(3606, {{next, 3}})).has_value());
    CHECK(*f.store().range(next, at(0), at(9999)) == std::vector<TimedValue>{{at(3606), 3}});
    f.reopen();
    CHECK(*f.store().range(next, at(0), at(9999)) == std::vector<TimedValue>{{at(3606), 3}});
    CHECK_FALSE(f.store().last(kPod)->has_value());
  }

  TEST_CASE("a series that lives on across a restart is not dropped with its old rows") {
    MetricFolder f;
    REQUIRE(f.store().append(batch(0, {{kPod, 1}, {kNode, 1}})).has_value());
    REQUIRE(f.store().append(batch(100, {{kPod, 2}, {kNode, 2}})).has_value());
    f.reopen();
    REQUIRE(*f.store().expire(at(3650)) == 1);
    CHECK(f.store().last(kPod)->value() == TimedValue{at(100), 2});
    CHECK(f.store().series()->size() == 2);
  }

  TEST_CASE("expiry of everything leaves a store that goes on, time still rising") {
    MetricFolder f;
    REQUIRE(f.store().append(batch(0, {{kNode, 1}})).has_value());
    CHECK(*f.store().expire(at(100'000)) == 1);
    CHECK(f.store().series()->empty());
    CHECK(f.store().append(batch(0, {{kNode, 1}})).has_error());
    CHECK(f.store().append(batch(1, {{kNode, 1}})).has_value());
  }

  TEST_CASE("rows after a time can be dropped: a run with a clock ahead of time") {
    MetricFolder f;
    REQUIRE(f.store().append(batch(0, {{kNode, 1}, {kPod, 1}})).has_value());
    REQUIRE(f.store().append(batch(1'000'000, {{kNode, 2}, {{"new", ""}, 1}})).has_value());
    CHECK(*f.store().drop_after(at(10)) == 1);
    CHECK(f.store().newest() == at(0));
    CHECK(f.store().last(kNode)->value() == TimedValue{at(0), 1});
    CHECK(f.store().last(kPod)->value() == TimedValue{at(0), 1});
    CHECK_FALSE(f.store().last({"new", ""})->has_value());
    CHECK(f.store().append(batch(11, {{kNode, 3}})).has_value());
    CHECK(*f.store().drop_after(at(11)) == 0);
  }

  TEST_CASE("a row that cannot be read is skipped and counted") {
    MetricFolder f;
    for (int s = 0; s < 3; ++s) REQUIRE(f.store().append(batch(s, {{kNode, s}})).has_value());
    f.overwrite_row(at(1), "not a row");
    CHECK(*f.store().range(kNode, at(0), at(9)) == std::vector<TimedValue>{{at(0), 0}, {at(2), 2}});
    CHECK(f.store().damaged_rows() == 1);
    CHECK(f.store().aggregate(kNode, at(0), at(9))->value().count == 2);
    CHECK(*f.store().expire(at(3603)) == 3);
  }

  TEST_CASE("a name that cannot be read costs its series only") {
    MetricFolder f;
    REQUIRE(f.store().append(batch(0, {{kNode, 1}, {kPod, 2}})).has_value());
    f.overwrite("series", std::string(4, '\0'), "garbage");  // id 0: the node
    f.reopen();
    CHECK(f.store().damaged_rows() == 1);
    CHECK_FALSE(f.store().last(kNode)->has_value());
    CHECK(f.store().last(kPod)->value().value == 2);
    REQUIRE(f.store().append(batch(1, {{kNode, 3}})).has_value());
    CHECK(*f.store().range(kNode, at(0), at(9)) == std::vector<TimedValue>{{at(1), 3}});
  }

  TEST_CASE("a file of another format is refused and left as it is") {
    MetricFolder f;
    REQUIRE(f.store().append(batch(0, {{kNode, 1}})).has_value());
    f.overwrite("meta", "format", "1");
    const auto r = f.try_reopen();
    REQUIRE(r.has_error());
    CHECK(r.error().code == Errc::kNotSupported);
    CHECK(r.error().context.find("expected metric format 2, got '1'") != std::string::npos);
    f.overwrite("meta", "format", "2");
    f.reopen();
    CHECK(f.store().last(kNode)->value().value == 1);
  }

  TEST_CASE("a database of somebody else is refused and left as it is") {
    const test::FakeTree tree;
    LmdbEnv::Options options;
    options.folder = tree.path("state");
    auto env = LmdbEnv::open(options);
    REQUIRE(env.has_value());
    REQUIRE(test::put_text(*env, "a", "theirs").has_value());
    const auto r = MetricStore::open(*env, {});
    REQUIRE(r.has_error());
    CHECK(r.error().code == Errc::kNotSupported);
    CHECK(test::get_text(*env, "a") == "theirs");
  }

  TEST_CASE("a ttl of nothing is refused") {
    MetricFolder f;
    const auto r = MetricStore::open(f.env(), {seconds{0}});
    REQUIRE(r.has_error());
    CHECK(r.error().code == Errc::kRange);
  }

  TEST_CASE("queries leave no reader slot, also when there is nothing to find") {
    MetricFolder f;
    REQUIRE(f.store().append(batch(0, {{kNode, 1}, {kPod, 1}})).has_value());
    f.reopen();
    f.overwrite_row(at(0), "garbage");
    CHECK_FALSE(f.store().last(kPod)->has_value());
    CHECK_FALSE(f.store().aggregate(kNode, at(0), at(9))->has_value());
    CHECK(f.env().reader_slots() == 0);
  }
}
