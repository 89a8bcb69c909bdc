#include <doctest/doctest.h>
#include <fmt/format.h>

#include "store/metric_store.hpp"
#include "support/metric_folder.hpp"

using namespace koordlet;
using namespace koordlet::store;
using namespace std::chrono_literals;
using koordlet::test::MetricFolder;

namespace {

const SeriesKey kNode{"node_cpu_usage", ""};

SeriesKey pod(int i) { return {"pod_cpu_usage", fmt::format("uid-{}", i)}; }

/// Each second a node sample t, each tenth second one of each pod: 1000 i + t.
void fill(MetricFolder& folder, int seconds, int pods) {
  for (int t = 1; t <= seconds; ++t) {
    MetricBatch batch{std::chrono::seconds{t}, {{kNode, t}}};
    if (t % 10 == 0) {
      for (int i = 0; i < pods; ++i) batch.samples.push_back({pod(i), 1000 * i + t});
    }
    REQUIRE(folder.store().append(batch).has_value());
  }
}

void check_same(const std::optional<WindowAggregate>& a, const std::optional<WindowAggregate>& b) {
  REQUIRE(a.has_value() == b.has_value());
  if (!a) return;
  CHECK(a->count == b->count);
  CHECK(a->min == b->min);
  CHECK(a->max == b->max);
  CHECK(a->last == b->last);
  CHECK(a->mean == b->mean);
  CHECK(a->p50 == b->p50);
  CHECK(a->p90 == b->p90);
  CHECK(a->p95 == b->p95);
  CHECK(a->p99 == b->p99);
  CHECK(a->first_at == b->first_at);
  CHECK(a->last_at == b->last_at);
}

}  // namespace

TEST_SUITE("metric_store/aggregate_many") {
  TEST_CASE("each answer is that of its own window, in the order of the questions") {
    MetricFolder folder;
    fill(folder, 60, 3);
    const auto r = folder.store().aggregate_many({{pod(2), 21s, 60s},
                                                  {kNode, 58s, 60s},
                                                  {{"pod_cpu_usage", "unknown"}, 0s, 60s},
                                                  {kNode, 1s, 10s},
                                                  {pod(0), 41s, 49s},
                                                  {kNode, 60s, 1s}});
    REQUIRE(r.has_value());
    REQUIRE(r->size() == 6);
    REQUIRE(r->at(0).has_value());  // 2030, 2040, 2050, 2060
    CHECK(r->at(0)->count == 4);
    CHECK(r->at(0)->mean == 2045);
    CHECK(r->at(0)->first_at == 30s);
    CHECK(r->at(0)->last_at == 60s);
    REQUIRE(r->at(1).has_value());  // 58, 59, 60
    CHECK(r->at(1)->count == 3);
    CHECK(r->at(1)->mean == 59);
    CHECK_FALSE(r->at(2).has_value());
    REQUIRE(r->at(3).has_value());
    CHECK(r->at(3)->mean == 5.5);
    CHECK(r->at(3)->last == 10);
    CHECK_FALSE(r->at(4).has_value());  // between two collections
    CHECK_FALSE(r->at(5).has_value());  // ends before it begins
  }
  TEST_CASE(
      "many series of large rows and few series of large rows answer like one question each") {
    MetricFolder folder;
    fill(folder, 40, 300);
    for (const int asked : {2, 300}) {  // looked up one by one; decoded whole
      CAPTURE(asked);
      std::vector<SeriesWindow> questions{{kNode, 5s, 33s}, {kNode, 30s, 40s}};
      for (int i = 0; i < asked; ++i) questions.push_back({pod(i), 12s, 40s});
      const auto r = folder.store().aggregate_many(questions);
      REQUIRE(r.has_value());
      REQUIRE(r->size() == questions.size());
      for (std::size_t i = 0; i < questions.size(); ++i) {
        const auto& q = questions[i];
        const auto one = folder.store().aggregate(q.series, q.from, q.to);
        REQUIRE(one.has_value());
        check_same((*r)[i], *one);
      }
    }
  }
  TEST_CASE("no question, and only questions nobody knows, have no answer and no fault") {
    MetricFolder folder;
    fill(folder, 3, 0);
    CHECK(folder.store().aggregate_many({})->empty());
    const auto r = folder.store().aggregate_many({{pod(1), 0s, 9s}});
    REQUIRE(r.has_value());
    REQUIRE(r->size() == 1);
    CHECK_FALSE(r->front().has_value());
  }
  TEST_CASE("a damaged row is skipped and counted, the others answer") {
    MetricFolder folder;
    fill(folder, 10, 2);
    folder.close();
    folder.overwrite_row(5s, "damaged");
    folder.reopen();
    const auto r = folder.store().aggregate_many({{kNode, 1s, 10s}, {pod(0), 1s, 10s}});
    REQUIRE(r.has_value());
    REQUIRE(r->at(0).has_value());
    CHECK(r->at(0)->count == 9);
    CHECK(r->at(0)->mean == 50.0 / 9);
    CHECK(r->at(1)->count == 1);
    CHECK(folder.store().damaged_rows() >= 1);
  }
  // Reference 2.3 takes index max(floor(N p / 100) - 1, 0); ours is nearest rank, ceil(N p / 100) -
  // 1. They differ by one where N p / 100 is no whole number: N=10: p95, p99 9 and not 8; equal for
  // N=100.
  TEST_CASE("2.3: percentiles are nearest rank, N=1, 10, 100, 300") {
    struct Row {
      int n;
      std::int64_t p50, p90, p95, p99;
    };
    for (const Row& want : {Row{1, 1, 1, 1, 1},
                            Row{10, 5, 9, 10, 10},
                            Row{100, 50, 90, 95, 99},
                            Row{300, 150, 270, 285, 297}}) {
      CAPTURE(want.n);
      MetricFolder folder;
      fill(folder, want.n, 0);
      const auto r = folder.store().aggregate_many({{kNode, 0s, 1000s}});
      REQUIRE(r.has_value());
      const auto& a = *r->front();
      CHECK(a.p50 == want.p50);
      CHECK(a.p90 == want.p90);
      CHECK(a.p95 == want.p95);
      CHECK(a.p99 == want.p99);
    }
  }
}
