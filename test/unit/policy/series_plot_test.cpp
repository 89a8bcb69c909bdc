#include "policy/series_plot.hpp"

#include <limits>

#include <doctest/doctest.h>

using namespace koordlet::policy;

namespace {

using Values = std::vector<std::optional<double>>;
constexpr auto kNone = std::nullopt;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

}  // namespace

TEST_SUITE("series/plot") {
  TEST_CASE("buckets stand at multiples of the step and cover both ends") {
    const auto grid = plot_grid(1'234'567, 1'294'567, 10'000, 100);
    REQUIRE(grid);
    CHECK(grid->start_ms == 1'230'000);
    CHECK(grid->size == 7);  // 1230 .. 1290 s
    const auto aligned = plot_grid(20'000, 30'000, 10'000, 100);
    REQUIRE(aligned);
    CHECK(aligned->start_ms == 20'000);
    CHECK(aligned->size == 2);  // the sample at 30 s is in the window
  }
  TEST_CASE("no step, no window, and more buckets than allowed are no grid") {
    CHECK_FALSE(plot_grid(0, 1000, 0, 10));
    CHECK_FALSE(plot_grid(0, 1000, -5, 10));
    CHECK_FALSE(plot_grid(1000, 1000, 10, 10));
    CHECK_FALSE(plot_grid(1000, 0, 10, 10));
    CHECK(plot_grid(0, 9999, 1000, 10));
    CHECK_FALSE(plot_grid(0, 10'000, 1000, 10));
    CHECK_FALSE(plot_grid(0, std::numeric_limits<std::int64_t>::max(), 1, 4000));
  }
  TEST_CASE("each bucket has its own figures; empty ones have none, not zero") {
    PlotBuckets plot{*plot_grid(0, 29'999, 10'000, 10)};
    plot.add(SeriesPoint{1000, 4});
    plot.add(SeriesPoint{2000, 8});
    plot.add(SeriesPoint{25'000, 3});
    CHECK(plot.values(PlotValue::kMean) == Values{6.0, kNone, 3.0});
    CHECK(plot.values(PlotValue::kMin) == Values{4.0, kNone, 3.0});
    CHECK(plot.values(PlotValue::kMax) == Values{8.0, kNone, 3.0});
    CHECK(plot.values(PlotValue::kLast) == Values{8.0, kNone, 3.0});
    CHECK(plot.values(PlotValue::kCount) == Values{2.0, kNone, 1.0});
  }
  TEST_CASE("a minute of samples counts as its samples") {
    PlotBuckets plot{*plot_grid(0, 99'999, 100'000, 10)};
    plot.add(PlotBuckets::Group{0, 3, 1, 9, 4, 5});
    plot.add(SeriesPoint{70'000, 1});
    CHECK(plot.values(PlotValue::kMean) == Values{4.0});  // (3 x 5 + 1) / 4
    CHECK(plot.values(PlotValue::kMin) == Values{1.0});
    CHECK(plot.values(PlotValue::kMax) == Values{9.0});
    CHECK(plot.values(PlotValue::kCount) == Values{4.0});
  }
  TEST_CASE("a rise belongs to the bucket it ends in; a reset is none") {
    PlotBuckets plot{*plot_grid(10'000, 39'999, 10'000, 10)};
    plot.add(SeriesPoint{5000, 100});  // before the grid: where the first rise starts
    plot.add(SeriesPoint{15'000, 200});
    plot.add(SeriesPoint{25'000, 50});
    plot.add(SeriesPoint{35'000, 70});
    CHECK(plot.values(PlotValue::kRate) == Values{10.0, kNone, 2.0});
  }
  TEST_CASE("values that are not finite, and those outside of the grid, are left out") {
    PlotBuckets plot{*plot_grid(10'000, 19'999, 10'000, 10)};
    plot.add(SeriesPoint{9000, 1});
    plot.add(SeriesPoint{12'000, kNan});
    plot.add(SeriesPoint{20'000, 1});
    CHECK(plot.values(PlotValue::kCount) == Values{kNone});
  }
}

TEST_SUITE("series/sparkline") {
  TEST_CASE("lowest to highest in eight blocks, gaps as spaces") {
    CHECK(sparkline({0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0}) == "▁▂▃▄▅▆▇█");
    CHECK(sparkline({1.0, kNone, 2.0}) == "▁ █");
    CHECK(sparkline({kNan, 1.0, std::numeric_limits<double>::infinity(), 2.0}) == " ▁ █");
  }
  TEST_CASE("one level: in the middle, at the bottom for zero; nothing at all is blank") {
    CHECK(sparkline({5.0, 5.0}) == "▄▄");
    CHECK(sparkline({0.0, 0.0}) == "▁▁");
    CHECK(sparkline({kNone, kNone}) == "  ");
    CHECK(sparkline({}).empty());
  }
  TEST_CASE("the largest span there is") {
    const double most = std::numeric_limits<double>::max();
    CHECK(sparkline({-most, most}) == "▁█");
  }
}
