#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "policy/series_math.hpp"

/// A series as a picture: buckets of one width at multiples of it, and a line of blocks.
namespace koordlet::policy {

/// Which buckets cover from <= t <= to: the first starts at or before `from`, at a multiple of the
/// step, so that pages and later calls meet the same borders.
struct PlotGrid {
  std::int64_t start_ms = 0, step_ms = 1;
  std::size_t size = 0;
};
/// nullopt: no step or no window above 0, or more than `most` buckets.
std::optional<PlotGrid> plot_grid(std::int64_t from_ms,
                                  std::int64_t to_ms,
                                  std::int64_t step_ms,
                                  std::size_t most);

/// What stands in a bucket; an empty one has no value (and no count of 0).
enum class PlotValue { kMean, kMin, kMax, kLast, kCount, kRate };

/// Takes samples, or minutes of them, in the order of time. What is outside of the grid is left
/// out, but for the rate: the point before the first bucket is where its first rise starts.
class PlotBuckets {
 public:
  explicit PlotBuckets(PlotGrid grid) : grid_{grid}, buckets_(grid.size) {}
  struct Group {
    std::int64_t at_ms = 0;
    double count = 1, min = 0, max = 0, last = 0, mean = 0;
  };
  void add(SeriesPoint p) { add(Group{p.at_ms, 1, p.value, p.value, p.value, p.value}); }
  void add(const Group& group);
  const PlotGrid& grid() const { return grid_; }
  std::vector<std::optional<double>> values(PlotValue what) const;

 private:
  struct Bucket {
    double count = 0, sum = 0, min = 0, max = 0, last = 0;
    double growth = 0;
    std::int64_t growth_ms = 0;
    std::optional<double> value(PlotValue what) const;
  };
  PlotGrid grid_;
  std::vector<Bucket> buckets_;
  std::optional<SeriesPoint> before_;
};

/// One block a value, lowest to highest; a space where there is none. All values equal: a line at
/// the bottom when they are 0, else in the middle.
std::string sparkline(const std::vector<std::optional<double>>& values);

}  // namespace koordlet::policy
