#pragma once

#include <chrono>
#include <vector>

namespace koordlet {

/// Which memory counts as used in NodeMetric (spec.metricCollectPolicy.nodeMemoryCollectPolicy).
enum class MemoryCollectPolicy { kWithoutPageCache, kWithHotPageCache, kWithPageCache };

/// spec.metricCollectPolicy of this node's NodeMetric object, defaults filled in and bounds
/// applied.
struct NodeMetricSpec {
  std::chrono::seconds aggregate{300};       ///< window of plain averages, at least 60
  std::chrono::seconds report_interval{60};  ///< between two reports, at least 10
  /// Windows of the percentiles, never empty.
  std::vector<std::chrono::seconds> durations{
      std::chrono::seconds{300}, std::chrono::seconds{600}, std::chrono::seconds{1800}};
  MemoryCollectPolicy memory = MemoryCollectPolicy::kWithoutPageCache;
  bool interval_given = false;  ///< the object states reportIntervalSeconds
  friend bool operator==(const NodeMetricSpec&, const NodeMetricSpec&) = default;
};

}  // namespace koordlet
