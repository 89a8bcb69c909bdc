#pragma once

#include <optional>
#include <vector>

#include "store/metric_store.hpp"

namespace koordlet::store {

constexpr StoredTime kMinute = std::chrono::minutes{1};
StoredTime minute_of(StoredTime t);  ///< the start of its minute

/// Index of the nearest rank of `count` sorted values (above 0): ceil(count * q) - 1, the first for
/// q = 0. A product that is whole but for the rounding of `q` counts as whole: 0.07 of 100 is the
/// 7th.
std::size_t rank_index(std::size_t count, double q);

/// Nearest rank: the smallest value that at least p percent of the samples do not exceed, index
/// ceil(n*p/100) - 1 of the sorted values. `percent` 1..100, `values` not empty; reorders them.
std::int64_t nearest_rank(std::vector<std::int64_t>& values, unsigned percent);

/// kRange: a quantile that is not a number of 0 to 1.
Result<void> check_quantiles(const std::vector<double>& quantiles);

/// The exact nearest ranks for `quantiles` (checked) in their order; `values` not empty, reordered.
std::vector<double> exact_quantiles(std::vector<std::int64_t>& values,
                                    const std::vector<double>& quantiles);

/// Sum and edges of samples, to be fed in order of time.
struct Moments {
  std::uint64_t count = 0;
  std::int64_t min = 0, max = 0, last = 0;
  __int128 sum = 0;  ///< bytes of a large node over an hour pass 64 bits
  StoredTime first_at{0}, last_at{0};
  void add(TimedValue sample);
  void add(const Moments& later);
  double mean() const;
};

/// `samples` in order of time; nullopt when there is none.
std::optional<WindowAggregate> summarize(const std::vector<TimedValue>& samples);
std::optional<SeriesSummary> summarize(const std::vector<TimedValue>& samples,
                                       const std::vector<double>& quantiles);
SeriesSummary to_summary(const Moments& moments);
WindowAggregate without_quantiles(const SeriesSummary& summary);
/// The minutes of `samples` (in order of time).
std::vector<RollupPoint> roll_up(const std::vector<TimedValue>& samples);
RollupPoint to_point(StoredTime minute, const Moments& moments);

}  // namespace koordlet::store
