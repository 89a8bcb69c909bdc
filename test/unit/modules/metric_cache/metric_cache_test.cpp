#include "modules/metric_cache/metric_cache.hpp"

#include <future>
#include <optional>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <doctest/doctest.h>
#include <fmt/format.h>

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
  explicit Bed(std::size_t max_queued = 64) {
    config.folder = tree.path("metrics");
    config.map_size = 4 << 20;
    config.max_queued_batches = max_queued;
  }
  void start() {
    cache.reset();
    cache.emplace(config, *storage, clock);
  }
  Result<void> open() { return test::run(io, cache->open()); }
  void restart() {
    cache.reset();
    storage.emplace("storage");  // the old one runs what is queued first
    start();
  }
  void append(std::int64_t value) { cache->append(clock.now(), {{kNode, value}}); }
  std::optional<store::TimedValue> last() {
    auto r = test::run(io, cache->last(kNode));
    REQUIRE(r.has_value());
    return *r;
  }
  std::optional<store::WindowAggregate> window(std::chrono::seconds length) {
    auto r = test::run(io, cache->aggregate(kNode, length));
    REQUIRE(r.has_value());
    return *r;
  }
  // Everything queued before has run.
  void settle() {
    std::promise<void> done;
    storage->post([&] { done.set_value(); });
    done.get_future().wait();
  }

  FakeTree tree;
  ManualClock clock;
  boost::asio::io_context io;
  std::optional<reactor::Worker> storage{std::in_place, "storage"};
  MetricCache::Config config;
  std::optional<MetricCache> cache;
};

}  // namespace

TEST_SUITE("metric_cache") {
  TEST_CASE("what was appended is found, with its time and its numbers") {
    Bed b;
    b.start();
    REQUIRE(b.open().has_value());
    CHECK_FALSE(b.last().has_value());
    for (int i = 1; i <= 10; ++i) {
      b.clock.advance(1s);
      b.append(i);
    }
    CHECK(b.last() == store::TimedValue{b.cache->stored_time(b.clock.now()), 10});
    const auto w = b.window(60s);
    REQUIRE(w.has_value());
    CHECK(w->count == 10);
    CHECK(w->mean == 5.5);
    CHECK(w->p95 == 10);
    CHECK(b.window(4s)->count == 5);  // both ends included
    const auto stats = b.cache->stats();
    CHECK(stats.batches == 10);
    CHECK(stats.samples == 10);
    CHECK(stats.dropped_batches == 0);
    CHECK(stats.errors == 0);
    CHECK(stats.map_bytes == 4U << 20);
    CHECK(stats.used_bytes > 0);
    CHECK(stats.moved_aside.empty());
  }

  TEST_CASE("many windows in one question: each its own, unknown series have none") {
    Bed b;
    b.start();
    using Questions = std::vector<std::pair<store::SeriesKey, std::chrono::seconds>>;
    const auto ask = [&b](Questions q) {
      return test::run(b.io, b.cache->aggregate_many(std::move(q)));
    };
    const auto closed = ask({{kNode, 10s}});
    REQUIRE(closed.has_error());
    CHECK(closed.error().code == Errc::kNotSupported);
    REQUIRE(b.open().has_value());
    for (int i = 1; i <= 10; ++i) {
      b.clock.advance(1s);
      b.append(i);
    }
    const auto r = ask({{kNode, 4s}, {{"pod_cpu_usage", "x"}, 60s}, {kNode, 60s}});
    REQUIRE(r.has_value());
    REQUIRE(r->size() == 3);
    CHECK(r->at(0)->mean == 8);  // 6..10: both ends included
    CHECK_FALSE(r->at(1).has_value());
    CHECK(r->at(2)->mean == 5.5);
    const auto bad = ask({{kNode, 4s}, {kNode, 0s}});
    REQUIRE(bad.has_error());
    CHECK(bad.error().code == Errc::kRange);
  }

  TEST_CASE("K#2567: a window of 300 s begins 300 s before its end") {
    Bed b;
    b.start();
    REQUIRE(b.open().has_value());
    b.append(1);
    b.clock.advance(1s);
    b.append(3);
    b.clock.advance(300s);
    using Questions = std::vector<std::pair<store::SeriesKey, std::chrono::seconds>>;
    const auto r =
        test::run(b.io, b.cache->aggregate_many(Questions{{kNode, 300s}, {kNode, 301s}}));
    REQUIRE(r.has_value());
    REQUIRE(r->at(0).has_value());
    CHECK(r->at(0)->count == 1);
    CHECK(r->at(0)->last == 3);
    CHECK(r->at(1)->count == 2);
  }

  TEST_CASE(
      "stored time is wall time at the start, and a step of the wall clock does not reach it") {
    Bed b;
    b.start();
    const auto start = b.cache->stored_time(b.clock.now());
    CHECK(start == std::chrono::seconds{1'700'000'000});
    REQUIRE(b.open().has_value());
    b.append(1);
    b.clock.step_wall(-1h);
    b.clock.advance(1s);
    CHECK(b.cache->stored_time(b.clock.now()) == start + 1s);
    b.append(2);
    b.clock.step_wall(5h);
    b.clock.advance(1s);
    b.append(3);
    CHECK(b.window(10s)->count == 3);
    CHECK(b.last()->at == start + 2s);
    CHECK(b.cache->stats().errors == 0);
  }

  TEST_CASE("a wall clock stepped back between two runs: stored time still rises") {
    Bed b;
    b.start();
    REQUIRE(b.open().has_value());
    b.append(1);
    const auto before = b.last()->at;
    b.clock.step_wall(-10min);
    b.restart();
    REQUIRE(b.open().has_value());
    b.append(2);
    CHECK(b.last()->value == 2);
    CHECK(b.last()->at == before + 1ms);
    b.clock.advance(1s);
    b.append(3);
    CHECK(b.last()->at == before + 1ms + 1s);
    CHECK(b.window(10s)->count == 3);
  }

  TEST_CASE("before the open a batch is dropped and counted, a query says why it cannot") {
    Bed b;
    b.start();
    b.append(1);
    CHECK(b.cache->stats().dropped_batches == 1);
    const auto r = test::run(b.io, b.cache->last(kNode));
    REQUIRE(r.has_error());
    CHECK(r.error().code == Errc::kNotSupported);
    CHECK(b.cache->stats().last_error == "metric history is not open");
  }

  TEST_CASE("a folder in use is the caller's to judge, later batches are dropped and counted") {
    Bed b;
    b.start();
    REQUIRE(b.open().has_value());
    MetricCache second{b.config, *b.storage, b.clock};
    const auto r = test::run(b.io, second.open());
    REQUIRE(r.has_error());
    CHECK(r.error().code == Errc::kBusy);
    CHECK(r.error().context.find("used by another koordlet") != std::string::npos);
    second.append(b.clock.now(), {{kNode, 1}});
    CHECK(second.stats().dropped_batches == 1);
    CHECK(second.stats().errors == 1);
  }

  TEST_CASE("append never waits: a stuck storage thread costs batches, not time") {
    Bed b{3};
    b.start();
    REQUIRE(b.open().has_value());
    std::promise<void> go;
    b.storage->post([f = std::make_shared<std::future<void>>(go.get_future())] { f->wait(); });
    for (int i = 1; i <= 10; ++i) {
      b.clock.advance(1s);
      b.append(i);
    }
    CHECK(b.cache->stats().dropped_batches == 7);
    CHECK(b.cache->stats().batches == 0);
    go.set_value();
    b.settle();
    CHECK(b.cache->stats().batches == 3);
    CHECK(b.last()->value == 3);
    b.clock.advance(1s);
    b.append(11);  // the queue takes batches again
    CHECK(b.last()->value == 11);
  }

  TEST_CASE("a batch that fails is counted with its reason, and the next one is taken") {
    Bed b;
    b.config.map_size = 256 << 10;
    b.start();
    REQUIRE(b.open().has_value());
    std::vector<store::MetricSample> huge;
    for (int i = 0; i < 100'000; ++i) huge.push_back({{"k", fmt::format("{}", i)}, i});
    b.cache->append(b.clock.now(), std::move(huge));
    b.clock.advance(1s);
    b.append(5);
    CHECK(b.last()->value == 5);
    const auto stats = b.cache->stats();
    CHECK(stats.errors == 1);
    CHECK(stats.last_error.find("batch of 100000 samples") == 0);
    CHECK(stats.batches == 1);
  }

  TEST_CASE("a full map drops rows, shows them, and takes every batch") {
    Bed b{100'000};
    b.config.map_size = 256 << 10;
    b.start();
    REQUIRE(b.open().has_value());
    for (int i = 0; i < 500; ++i) {
      std::vector<store::MetricSample> samples{{kNode, i}};
      for (int n = 0; n < 300; ++n) samples.push_back({{"k", fmt::format("{}", n)}, 1 << 30});
      b.cache->append(b.clock.now(), std::move(samples));
      b.clock.advance(1s);
    }
    CHECK(b.last()->value == 499);
    const auto stats = b.cache->stats();
    CHECK(stats.batches == 500);
    CHECK(stats.errors == 0);
    CHECK(stats.dropped_rows > 0);
    CHECK(stats.used_bytes <= stats.map_bytes);
  }

  TEST_CASE("a damaged store is set aside and shown") {
    Bed b;
    b.tree.write("metrics/data.mdb", "garbage");
    b.start();
    REQUIRE(b.open().has_value());
    CHECK(b.cache->stats().moved_aside.find(b.tree.path("metrics") + ".damaged-") == 0);
    b.append(1);
    CHECK(b.last()->value == 1);
  }

  TEST_CASE("a round of garbage collection drops what is past its time") {
    Bed b;
    b.config.retention = 0s;  // with roll-ups, samples stay until their hour is rolled up
    b.start();
    REQUIRE(b.open().has_value());
    b.append(1);
    b.clock.advance(30min);
    b.append(2);
    b.clock.advance(31min);
    const auto dropped = test::run(b.io, b.cache->collect_garbage());
    REQUIRE(dropped.has_value());
    CHECK(*dropped == 1);
    CHECK(b.window(24h)->count == 1);
    CHECK(b.cache->stats().dropped_rows == 0);
  }

  TEST_CASE("run ends when it is cancelled") {
    Bed b;
    b.start();
    REQUIRE(b.open().has_value());
    boost::asio::cancellation_signal stop;
    bool ended = false;
    boost::asio::co_spawn(b.io,
                          b.cache->run(),
                          boost::asio::bind_cancellation_slot(
                              stop.slot(), [&](std::exception_ptr) { ended = true; }));
    boost::asio::post(b.io, [&] { stop.emit(boost::asio::cancellation_type::terminal); });
    b.io.restart();
    b.io.run();
    CHECK(ended);
  }

  TEST_CASE("a cache that goes away with work queued loses none of it") {
    Bed b;
    b.start();
    REQUIRE(b.open().has_value());
    for (int i = 0; i < 20; ++i) {
      b.clock.advance(1s);
      b.append(i);
    }
    b.restart();
    REQUIRE(b.open().has_value());
    CHECK(b.window(60s)->count == 20);
  }
}
