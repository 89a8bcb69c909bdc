// Queries over rows, seals and roll-ups against a plain array of the same samples.
#include <doctest/doctest.h>

#include "store/metric_store.hpp"
#include "support/metric_folder.hpp"
#include "support/metric_model.hpp"

using namespace koordlet;
using namespace koordlet::store;
using namespace std::chrono_literals;
using koordlet::test::MetricFolder;
using koordlet::test::MetricModel;
using koordlet::test::SeriesSource;

namespace {

constexpr StoredTime kStart{1'700'000'123'456};
constexpr StoredTime kMark = 10min, kDay = 24h;
const std::vector<std::size_t> kPermille{0, 1, 50, 500, 900, 950, 990, 1000};

std::vector<double> quantiles() {
  std::vector<double> out;
  for (const auto p : kPermille) out.push_back(static_cast<double>(p) / 1000);
  return out;
}

bool near(double a, double b, double share) {
  return std::abs(a - b) <= share * std::max(std::abs(a), std::abs(b)) + 1e-9;
}

struct Window {
  StoredTime from{0}, to{0};
};

// Anywhere, on marks, on samples, and one millisecond beside them.
Window some_window(SeriesSource& source, StoredTime begin, StoredTime end) {
  const auto edge = [&] {
    auto t = begin + StoredTime{source.draw() % (1 + (end - begin).count())};
    if (source.draw() % 2 == 0) t -= t % (source.draw() % 2 == 0 ? kMark : StoredTime{1h});
    return t + StoredTime{static_cast<int>(source.draw() % 3) - 1};
  };
  return {edge(), edge()};
}

void check_exact(MetricStore& store, const MetricModel& model, const SeriesKey& key, Window w) {
  CAPTURE(key.owner);
  CAPTURE(w.from.count());
  CAPTURE(w.to.count());
  const auto want = model.window(key, w.from, w.to);
  CHECK(*store.range(key, w.from, w.to) == want);
  const auto got = *store.aggregate(key, w.from, w.to);
  const auto summary = *store.summarize(key, w.from, w.to, quantiles());
  REQUIRE(got.has_value() == !want.empty());
  REQUIRE(summary.has_value() == !want.empty());
  if (want.empty()) return;
  CHECK(got->exact);
  CHECK(summary->exact);
  CHECK(got->count == want.size());
  CHECK(got->min == test::rank_of(want, 0));
  CHECK(got->max == test::rank_of(want, 1000));
  CHECK(got->last == want.back().value);
  CHECK(got->first_at == want.front().at);
  CHECK(got->last_at == want.back().at);
  CHECK(near(got->mean, test::mean_of(want), 1e-9));
  CHECK(got->p50 == test::rank_of(want, 500));
  CHECK(got->p99 == test::rank_of(want, 990));
  CHECK(summary->count == want.size());
  for (std::size_t i = 0; i < kPermille.size(); ++i) {
    CHECK(summary->quantiles[i] == static_cast<double>(test::rank_of(want, kPermille[i])));
  }
}

// Whole minutes: the answer is the same wherever the samples are by now.
void check_minutes(MetricStore& store, const MetricModel& model, const SeriesKey& key, Window w) {
  w.from -= w.from % 1min;
  w.to += 1min - w.to % 1min - 1ms;
  CAPTURE(key.owner);
  CAPTURE(w.from.count());
  CAPTURE(w.to.count());
  const auto want = model.window(key, w.from, w.to);
  const auto got = *store.summarize(key, w.from, w.to, quantiles());
  REQUIRE(got.has_value() == !want.empty());
  if (want.empty()) return;
  CHECK(got->count == want.size());
  CHECK(got->min == test::rank_of(want, 0));
  CHECK(got->max == test::rank_of(want, 1000));
  CHECK(got->last == want.back().value);
  CHECK(near(got->mean, test::mean_of(want), 1e-9));
  CHECK(got->first_at / 1min == want.front().at / 1min);
  CHECK(got->last_at / 1min == want.back().at / 1min);
  for (std::size_t i = 0; i < kPermille.size(); ++i) {
    CAPTURE(kPermille[i]);
    const auto rank = static_cast<double>(test::rank_of(want, kPermille[i]));
    CHECK(near(got->quantiles[i], rank, got->exact ? 0 : 0.0101));
  }
  const auto points = *store.rollups(key, w.from, w.to);
  std::size_t next = 0;
  for (const auto& p : points) {
    const auto part = model.window(key, p.at, p.at + 1min - 1ms);
    REQUIRE(p.at % 1min == 0ms);
    REQUIRE(p.count == part.size());
    next += part.size();
    CHECK(p.min == test::rank_of(part, 0));
    CHECK(p.max == test::rank_of(part, 1000));
    CHECK(p.last == part.back().value);
    CHECK(near(p.mean, test::mean_of(part), 1e-9));
  }
  CHECK(next == want.size());
}

bool same(const std::optional<WindowAggregate>& a, const std::optional<WindowAggregate>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  const auto fields = [](const WindowAggregate& w) {
    return std::tuple{w.count,
                      w.min,
                      w.max,
                      w.last,
                      w.mean,
                      w.p50,
                      w.p90,
                      w.p95,
                      w.p99,
                      w.first_at,
                      w.last_at,
                      w.exact};
  };
  return fields(*a) == fields(*b);
}

void check_many(MetricStore& store, SeriesSource& source, StoredTime begin, StoredTime end) {
  std::vector<SeriesWindow> questions;
  for (int i = 0; i < 30; ++i) {
    const auto w = some_window(source, begin, end);
    const auto shape = static_cast<int>(source.draw() % (SeriesSource::kShapes + 1));
    questions.push_back({SeriesSource::key(shape), w.from, w.to});
  }
  const auto got = store.aggregate_many(questions);
  REQUIRE(got.has_value());
  REQUIRE(got->size() == questions.size());
  for (std::size_t i = 0; i < questions.size(); ++i) {
    CAPTURE(i);
    const auto& q = questions[i];
    CHECK(same((*got)[i], *store.aggregate(q.series, q.from, q.to)));
  }
}

void maintain_all(MetricStore& store, StoredTime now) {
  for (int steps = 0;; ++steps) {
    REQUIRE(steps < 100'000);
    const auto more = store.maintain(now);
    REQUIRE(more.has_value());
    if (!*more) return;
  }
}

void check_last(MetricStore& store, const MetricModel& model, StoredTime kept_from) {
  for (const auto& [key, samples] : model.series()) {
    CAPTURE(key.owner);
    if (samples.back().at >= kept_from) {
      const auto last = *store.last(key);
      REQUIRE(last.has_value());
      CHECK(*last == samples.back());
    }
  }
}

// As long as no sample is past its time every answer is exact, in the middle of a seal too.
void run_exact(unsigned seed, std::chrono::seconds retention) {
  CAPTURE(seed);
  MetricFolder f{64 << 20, {std::chrono::hours{24 * 7}, retention}};
  MetricModel model;
  SeriesSource source{seed};
  auto now = kStart;
  for (int n = 0; n < 2000; ++n, now += source.step()) {
    const auto batch = source.batch(n, now);
    REQUIRE(f.store().append(batch).has_value());
    model.append(batch);
    for (auto steps = source.draw() % 3; steps > 0; --steps) {
      REQUIRE(f.store().maintain(now).has_value());
    }
    if (n % 500 == 499) f.reopen();
    if (n % 40 != 0) continue;
    const auto key = SeriesSource::key(static_cast<int>(source.draw() % SeriesSource::kShapes));
    check_exact(f.store(), model, key, some_window(source, kStart, now));
  }
  maintain_all(f.store(), now);
  check_last(f.store(), model, kStart);
  for (int i = 0; i < 150; ++i) {
    const auto key = SeriesSource::key(i % (SeriesSource::kShapes + 1));
    check_exact(f.store(), model, key, some_window(source, kStart, now));
    check_minutes(f.store(), model, key, some_window(source, kStart, now));
  }
  check_many(f.store(), source, kStart - 1h, now + 1h);
  for (const auto& [key, samples] : model.series()) {
    check_exact(f.store(), model, key, {StoredTime::min(), StoredTime::max()});
  }
  CHECK(f.store().damaged_rows() == 0);
  CHECK(f.store().dropped_rows() == 0);
}

}  // namespace

TEST_SUITE("store/metric_seals") {
  TEST_CASE("rows and seals answer like an array of the samples") {
    for (const unsigned seed : {1U, 2U, 3U}) run_exact(seed, std::chrono::seconds{0});
  }

  TEST_CASE("with roll-ups beside them too, as long as the samples are kept") {
    for (const unsigned seed : {4U, 5U, 6U}) run_exact(seed, std::chrono::hours{24 * 7});
  }

  TEST_CASE("beyond the ttl minutes stay exact and quantiles within one percent") {
    for (const unsigned seed : {7U, 8U, 9U}) {
      CAPTURE(seed);
      MetricFolder f{64 << 20, {std::chrono::minutes{30}, std::chrono::hours{24 * 7}}};
      MetricModel model;
      SeriesSource source{seed};
      auto now = kStart;
      for (int n = 0; n < 3000; ++n) {
        now += source.step();
        const auto batch = source.batch(n, now);
        REQUIRE(f.store().append(batch).has_value());
        model.append(batch);
        if (n % 5 == 0) REQUIRE(f.store().maintain(now).has_value());
        if (n % 60 == 0) REQUIRE(f.store().expire(now).has_value());
        if (n % 700 == 699) f.reopen();
        if (n % 100 != 0) continue;
        const auto key = SeriesSource::key(n / 100 % SeriesSource::kShapes);
        check_minutes(f.store(), model, key, some_window(source, kStart, now));
      }
      maintain_all(f.store(), now);
      for (int i = 0; i < 200; ++i) {
        const auto key = SeriesSource::key(i % (SeriesSource::kShapes + 1));
        check_minutes(f.store(), model, key, some_window(source, kStart, now));
      }
      check_many(f.store(), source, kStart - 1h, now + 1h);
      for (const auto& [key, samples] : model.series()) {
        CAPTURE(key.owner);
        // Nothing younger than the ttl is gone, and what is left is the end of the series.
        const auto kept = *f.store().range(key, kStart, now);
        REQUIRE(kept.size() <= samples.size());
        CHECK(std::equal(kept.rbegin(), kept.rend(), samples.rbegin()));
        CHECK(kept.size() >= model.window(key, now - 30min, now).size());
        const auto all = *f.store().summarize(key, StoredTime::min(), StoredTime::max(), {});
        REQUIRE(all.has_value());
        CHECK(all->count == samples.size());
      }
      CHECK(f.store().range(SeriesSource::key(0), kStart, now)->size() <
            model.series().at(SeriesSource::key(0)).size());
      CHECK(f.store().damaged_rows() == 0);
      f.reopen();
      const auto last = *f.store().last(SeriesSource::key(6));  // in roll-ups only by now
      REQUIRE(last.has_value());
      CHECK(last->value == model.series().at(SeriesSource::key(6)).back().value);
    }
  }

  TEST_CASE("a closed window of no length holds the sample at that time, a negative one nothing") {
    MetricFolder f{16 << 20, {std::chrono::hours{24}, std::chrono::hours{48}}};
    for (int n = 0; n < 200; ++n) {
      REQUIRE(f.store().append({kStart + n * 10s, {{SeriesSource::key(0), n}}}).has_value());
    }
    maintain_all(f.store(), kStart + kDay);  // everything in seals and roll-ups
    const auto key = SeriesSource::key(0);
    for (const auto t : {kStart, kStart + 590s, kStart + 600s, kStart + 1990s}) {
      CHECK(f.store().aggregate(key, t, t)->value().count == 1);
      CHECK(f.store().summarize(key, t, t, {0.5})->value().count == 1);
      CHECK_FALSE(f.store().aggregate(key, t + 1ms, t + 1ms)->has_value());
      CHECK_FALSE(f.store().aggregate(key, t, t - 1ms)->has_value());
      CHECK_FALSE(f.store().summarize(key, t, t - 1ms, {0.5})->has_value());
      CHECK(f.store().rollups(key, t, t - 1ms)->empty());
      CHECK(f.store().range(key, t, t - kDay)->empty());
    }
  }

  TEST_CASE("pitfall 65: 300 s of a series in seals are the samples of 300 s") {
    MetricFolder f{16 << 20, {std::chrono::hours{24}, std::chrono::hours{48}}};
    for (int n = 0; n < 4000; ++n) {
      REQUIRE(f.store().append({kStart + n * 1s, {{SeriesSource::key(0), n}}}).has_value());
      if (n % 50 == 0) maintain_all(f.store(), kStart + n * 1s);
    }
    const auto end = kStart + 1999s;
    const auto w = *f.store().aggregate(SeriesSource::key(0), end - std::chrono::seconds{300}, end);
    REQUIRE(w.has_value());
    CHECK(w->count == 301);  // both ends
    CHECK(w->first_at == end - 300s);
    CHECK(w->min == 1699);
  }
}
