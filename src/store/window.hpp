#pragma once

#include <optional>
#include <vector>

#include "store/metric_store.hpp"

namespace koordlet::store {

/// Nearest rank: the smallest value that at least p percent of the samples do not exceed, index
/// ceil(n*p/100) - 1 of the sorted values. `percent` 1..100, `values` not empty; reorders them.
std::int64_t nearest_rank(std::vector<std::int64_t>& values, unsigned percent);

/// `samples` in order of time; nullopt when there is none.
std::optional<WindowAggregate> summarize(const std::vector<TimedValue>& samples);

}  // namespace koordlet::store
