#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/units.hpp"
#include "model/pod.hpp"

namespace koordlet {

/// What one subject uses. Unknown is absent, never zero.
struct ResourceUse {
  std::optional<MilliCpu> cpu;
  std::optional<Bytes> memory;
  friend bool operator==(const ResourceUse&, const ResourceUse&) = default;
};

/// Mean and percentiles over the `duration` that ended at the report.
struct AggregatedUse {
  std::chrono::seconds duration{0};
  ResourceUse avg, p50, p90, p95, p99;
  friend bool operator==(const AggregatedUse&, const AggregatedUse&) = default;
};

struct PodUse {
  std::string ns;
  std::string name;
  ResourceUse use;
  PriorityClass priority = PriorityClass::kNone;  ///< with default
  QosClass qos = QosClass::kNone;                 ///< with default
  friend bool operator==(const PodUse&, const PodUse&) = default;
};

struct HostApplicationUse {
  std::string name;
  ResourceUse use;
  std::string priority;  ///< as NodeSLO states it, "" when it does not
  std::string qos;
  friend bool operator==(const HostApplicationUse&, const HostApplicationUse&) = default;
};

/// One NodeMetric report: what this node and its pods used, as means over the plain window unless
/// said otherwise.
struct NodeReport {
  WallTime collected_at;  ///< of the newest node sample in it: the report is as old as its data
  ResourceUse node;
  std::vector<AggregatedUse> node_aggregated;  ///< in the order of the spec's durations
  ResourceUse system;                          ///< node less pods less host applications
  std::vector<AggregatedUse> system_aggregated;
  std::vector<PodUse> pods;                           ///< sorted by namespace, then name
  std::vector<HostApplicationUse> host_applications;  ///< sorted by name
  ResourceUse prod_reclaimable;                       ///< empty without a predictor
  std::optional<ResourceUse> prod_peak;
  std::vector<std::string> health;  ///< what is missing in it and why; not sent, for status
  friend bool operator==(const NodeReport&, const NodeReport&) = default;
};

}  // namespace koordlet
