#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

/// Settings of the eviction rules. All of them are off until TOML or NodeSLO
/// (resourceUsedThresholdWithBE) switches them on; reference qos-plugins sections 3 to 5.
namespace koordlet::policy {

/// What all eviction rules share (TOML [qos.evict]).
struct EvictConfig {
  /// Pods without the label that Kubernetes calls BestEffort are victims of the BE rules too. Not
  /// set: true without a NodeSLO object, false with one.
  std::optional<bool> include_kube_best_effort;
  bool require_rescue = true;      ///< no eviction when all victims together do not help
  int node_max_evictions = 10;     ///< in 10 minutes, on this node
  int owner_max_evictions = 3;     ///< in 10 minutes, of one owner: then it is left alone
  int release_grace_seconds = 30;  ///< that what a leaving pod holds counts as good as free
  int cpu_cooldown_seconds = 20;   ///< after the start and after a victim of a CPU rule
  int memory_cooldown_seconds = 4;
  int cpu_window_seconds = 60;  ///< over which CPU use is averaged
  /// Highest priority that cpu_evict and memory_evict may evict; without it they do nothing.
  std::optional<int> priority_threshold;
  /// The same of the allocatable rules; also who is counted against the allocatable.
  std::optional<int> allocatable_priority_threshold;
  friend bool operator==(const EvictConfig&, const EvictConfig&) = default;
};

/// Use of the node in percent of its size.
struct UseMarks {
  int threshold_percent = 70;        ///< use at which eviction starts
  std::optional<int> lower_percent;  ///< use at which it has done enough; not set: threshold - 2
  /// The use is cut to whole percents before it is compared and subtracted, as Koordinator does:
  /// set when the threshold comes from NodeSLO. Otherwise everything is exact.
  bool whole_percent = false;
  int lower() const { return lower_percent.value_or(std::max(threshold_percent - 2, 0)); }
  friend bool operator==(const UseMarks&, const UseMarks&) = default;
};

/// TOML [qos.memory_evict]; percent of MemTotal.
struct MemoryEvictConfig : UseMarks {
  bool enable = false;       ///< BEMemoryEvict: victims are BE pods
  bool by_priority = false;  ///< MemoryEvict: victims are pods up to the priority threshold
  friend bool operator==(const MemoryEvictConfig&, const MemoryEvictConfig&) = default;
};

/// CPUEvict (TOML [qos.cpu_evict]); percent of the node's CPU capacity.
struct CpuEvictConfig : UseMarks {
  CpuEvictConfig() { threshold_percent = 90; }
  bool enable = false;
  friend bool operator==(const CpuEvictConfig&, const CpuEvictConfig&) = default;
};

/// BECPUEvict (TOML [qos.be_cpu_evict]).
struct BeCpuEvictConfig {
  bool enable = false;
  int lower_percent = 30;            ///< BE gets at most this much of its request: too little
  int upper_percent = 50;            ///< what is to be reached; at least the lower mark
  int usage_threshold_percent = 90;  ///< of its limit that BE uses: it would use more
  bool by_allocatable = false;  ///< the limit is the node's batch-cpu, not what the BE root has
  friend bool operator==(const BeCpuEvictConfig&, const BeCpuEvictConfig&) = default;
};

/// CPUAllocatableEvict and MemoryAllocatableEvict (TOML [qos.cpu_allocatable_evict] and
/// [qos.memory_allocatable_evict]); requests in percent of what the node offers.
struct AllocatableEvictConfig {
  bool enable = false;
  int threshold_percent = 110;
  int lower_percent = 100;
  friend bool operator==(const AllocatableEvictConfig&, const AllocatableEvictConfig&) = default;
};

struct QosConfig;
struct EffectiveConfig;

/// Faults of the TOML values, "path: value: expected".
void validate_evict(const QosConfig& config, std::vector<std::string>& faults);

}  // namespace koordlet::policy
