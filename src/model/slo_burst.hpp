#pragma once

#include <optional>

namespace koordlet {

/// Which ways of bursting run.
enum class BurstPolicy {
  kNone,
  kCpuBurstOnly,       ///< static burst: unused quota may be saved up (cpu.max.burst)
  kCfsQuotaBurstOnly,  ///< quota burst: the quota of a throttled container grows
  kAuto,               ///< both
};

/// spec.cpuBurstStrategy, or the annotation koordinator.sh/cpuBurst of a pod, as stated: absent
/// fields stay absent. Numbers are within their ranges.
struct CpuBurstStrategy {
  std::optional<BurstPolicy> policy;
  std::optional<int> burst_percent;           ///< 0..10000, of the limit
  std::optional<int> quota_percent;           ///< 100..10000, most that the quota grows to
  std::optional<int> quota_period_seconds;    ///< -1 no budget, 1..86400
  std::optional<int> pool_threshold_percent;  ///< 0..100; not in the annotation
  friend bool operator==(const CpuBurstStrategy&, const CpuBurstStrategy&) = default;
};

}  // namespace koordlet
