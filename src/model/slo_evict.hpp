#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace koordlet {

/// What the satisfaction of BE is measured against.
enum class CpuEvictPolicy {
  kRealLimit,    ///< "evictByRealLimit": what the BE root may use now
  kAllocatable,  ///< "evictByAllocatable": the node's batch-cpu
};

/// The eviction fields of spec.resourceUsedThresholdWithBE, raw; the memory marks stand in
/// ThresholdStrategy itself. Absent stays absent: some fields switch a rule on by being there.
struct EvictThresholds {
  std::optional<int> cpu_be_satisfaction_lower_percent;
  std::optional<int> cpu_be_satisfaction_upper_percent;
  std::optional<int> cpu_be_usage_threshold_percent;
  std::optional<int> cpu_time_window_seconds;
  std::optional<int> cpu_threshold_percent;
  std::optional<int> cpu_lower_percent;
  std::optional<int> priority_threshold;
  std::optional<int> allocatable_priority_threshold;
  std::optional<int> cpu_allocatable_threshold_percent;
  std::optional<int> cpu_allocatable_lower_percent;
  std::optional<int> memory_allocatable_threshold_percent;
  std::optional<int> memory_allocatable_lower_percent;
  std::optional<CpuEvictPolicy> cpu_policy;
  friend bool operator==(const EvictThresholds&, const EvictThresholds&) = default;
};

/// Name and range of a number, stated once for reading and for judging.
struct EvictField {
  std::string_view name;  ///< below spec.resourceUsedThresholdWithBE
  std::optional<int> EvictThresholds::*value;
  int low;
  int high;
};

/// Ranges: a satisfaction to act below is at most 60 %, the one to reach below 100 %; allocatable
/// percents may pass 100, for batch resources shrink while pods run; koord-prod pods (8000 and
/// more) are never counted against an allocatable. The rest are percents, and an hour at most.
inline constexpr std::array kEvictFields{
    EvictField{"cpuEvictBESatisfactionLowerPercent",
               &EvictThresholds::cpu_be_satisfaction_lower_percent,
               1,
               60},
    EvictField{"cpuEvictBESatisfactionUpperPercent",
               &EvictThresholds::cpu_be_satisfaction_upper_percent,
               1,
               99},
    EvictField{"cpuEvictBEUsageThresholdPercent",
               &EvictThresholds::cpu_be_usage_threshold_percent,
               1,
               100},
    EvictField{"cpuEvictTimeWindowSeconds", &EvictThresholds::cpu_time_window_seconds, 1, 3600},
    EvictField{"cpuEvictThresholdPercent", &EvictThresholds::cpu_threshold_percent, 1, 100},
    EvictField{"cpuEvictLowerPercent", &EvictThresholds::cpu_lower_percent, 0, 99},
    EvictField{"evictEnabledPriorityThreshold", &EvictThresholds::priority_threshold, 0, 9999},
    EvictField{"allocatableEvictPriorityThreshold",
               &EvictThresholds::allocatable_priority_threshold,
               0,
               7999},
    EvictField{"cpuAllocatableEvictThresholdPercent",
               &EvictThresholds::cpu_allocatable_threshold_percent,
               1,
               1000},
    EvictField{
        "cpuAllocatableEvictLowerPercent", &EvictThresholds::cpu_allocatable_lower_percent, 0, 999},
    EvictField{"memoryAllocatableEvictThresholdPercent",
               &EvictThresholds::memory_allocatable_threshold_percent,
               1,
               1000},
    EvictField{"memoryAllocatableEvictLowerPercent",
               &EvictThresholds::memory_allocatable_lower_percent,
               0,
               999},
};

}  // namespace koordlet
