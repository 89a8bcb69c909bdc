#include <future>
#include <optional>

#include <boost/asio/io_context.hpp>
#include <doctest/doctest.h>

#include "modules/metric_cache/metric_cache.hpp"
#include "support/async.hpp"
#include "support/fake_tree.hpp"
#include "support/manual_clock.hpp"

using namespace koordlet;
using koordlet::test::FakeTree;
using koordlet::test::ManualClock;
using namespace std::chrono_literals;

namespace {

const store::SeriesKey kNode{"node_cpu_usage", ""};

struct Bed {
  Bed() {
    MetricCache::Config config;
    config.folder = tree.path("metrics");
    config.map_size = 16 << 20;
    cache.emplace(config, *storage, clock);
  }
  void open() { REQUIRE(test::run(io, cache->open()).has_value()); }
  store::StoredTime now() const { return cache->stored_time(clock.now()); }
  auto summarize(store::StoredTime from, store::StoredTime to, std::vector<double> quantiles) {
    return test::run(io, cache->summarize(kNode, from, to, std::move(quantiles)));
  }
  auto rollups(store::StoredTime from, store::StoredTime to) {
    return test::run(io, cache->rollups(kNode, from, to));
  }
  auto range(store::StoredTime from, store::StoredTime to) {
    return test::run(io, cache->range(kNode, from, to));
  }
  void settle() {
    std::promise<void> done;
    storage->post([&] { done.set_value(); });
    done.get_future().wait();
  }
  // Steps follow each other behind what waits: done when a round had none.
  void settle_all() {
    for (auto before = UINT64_MAX; before != cache->stats().maintain_steps;) {
      before = cache->stats().maintain_steps;
      settle();
      settle();
    }
  }
  // Values 1, 2, 3 ... one each ten seconds.
  void fill(int count) {
    for (int i = 1; i <= count; ++i) {
      clock.advance(10s);
      cache->append(clock.now(), {{kNode, i}});
      if (i % 32 == 0) settle_all();
    }
    settle_all();
  }

  FakeTree tree;
  ManualClock clock;
  boost::asio::io_context io;
  std::optional<reactor::Worker> storage{std::in_place, "storage"};
  std::optional<MetricCache> cache;
};

}  // namespace

TEST_SUITE("metric_cache/long queries") {
  TEST_CASE("a cache that is not open answers nothing") {
    Bed b;
    CHECK(b.summarize(0s, 1s, {}).error().code == Errc::kNotSupported);
    CHECK(b.rollups(0s, 1s).error().code == Errc::kNotSupported);
    CHECK(b.range(0s, 1s).error().code == Errc::kNotSupported);
    CHECK(test::run(b.io, b.cache->series()).error().code == Errc::kNotSupported);
  }

  TEST_CASE("a window that ends before it starts and a quantile above 1 are refused") {
    Bed b;
    b.open();
    b.fill(3);
    CHECK(b.summarize(2s, 1s, {0.5}).error().code == Errc::kRange);
    CHECK(b.rollups(2s, 1s).error().code == Errc::kRange);
    CHECK(b.range(2s, 1s).error().code == Errc::kRange);
    CHECK(b.summarize(1s, 2s, {1.5}).error().code == Errc::kRange);
    CHECK(b.summarize(1s, 2s, {-0.1}).error().code == Errc::kRange);
  }

  TEST_CASE("a window without samples is no answer, not zero") {
    Bed b;
    b.open();
    b.fill(3);
    const auto empty = b.summarize(1s, 2s, {0.5});
    REQUIRE(empty.has_value());
    CHECK_FALSE(empty->has_value());
    CHECK(b.range(1s, 2s)->empty());
    CHECK(b.rollups(1s, 2s)->empty());
  }

  TEST_CASE("fresh samples: exact quantiles by nearest rank, samples and minutes") {
    Bed b;
    b.open();
    const auto start = b.now();
    b.fill(10);  // 10 to 100 s
    const auto s = b.summarize(start, b.now(), {0, 0.5, 0.95, 1});
    REQUIRE(s.has_value());
    REQUIRE(s->has_value());
    CHECK((*s)->count == 10);
    CHECK((*s)->exact);
    CHECK((*s)->mean == 5.5);
    CHECK((*s)->quantiles == std::vector<double>{1, 5, 10, 10});
    const auto last_two = b.range(b.now() - 10s, b.now());
    REQUIRE(last_two.has_value());
    REQUIRE(last_two->size() == 2);
    CHECK(last_two->back() == store::TimedValue{b.now(), 10});
    std::uint64_t count = 0;
    for (const auto& minute : *b.rollups(start, b.now())) count += minute.count;
    CHECK(count == 10);
    CHECK(*test::run(b.io, b.cache->series()) == std::vector<store::SeriesKey>{kNode});
  }

  TEST_CASE("four hours with a ttl of one: what is no longer kept is told from its minutes") {
    Bed b;
    b.open();
    const auto start = b.now();
    b.fill(1440);
    REQUIRE(test::run(b.io, b.cache->collect_garbage()).has_value());
    const auto stats = b.cache->stats();
    CHECK(stats.maintain_steps > 0);
    CHECK(stats.errors == 0);
    CHECK(stats.damaged_rows == 0);
    CHECK(stats.refused_samples == 0);
    const auto s = b.summarize(start, b.now(), {0.5, 0.95});
    REQUIRE(s.has_value());
    REQUIRE(s->has_value());
    CHECK((*s)->count == 1440);
    CHECK_FALSE((*s)->exact);
    CHECK((*s)->min == 1);
    CHECK((*s)->max == 1440);
    CHECK((*s)->last == 1440);
    CHECK((*s)->mean == 720.5);
    CHECK((*s)->quantiles[0] == doctest::Approx(720).epsilon(0.0101));
    CHECK((*s)->quantiles[1] == doctest::Approx(1368).epsilon(0.0101));
    std::uint64_t count = 0;
    for (const auto& minute : *b.rollups(start, b.now())) count += minute.count;
    CHECK(count == 1440);
    const auto kept = b.range(start, b.now());
    REQUIRE(kept.has_value());
    CHECK(kept->size() >= 360);  // the ttl
    CHECK(kept->size() < 1440);
    CHECK(kept->back().value == 1440);
  }
}
