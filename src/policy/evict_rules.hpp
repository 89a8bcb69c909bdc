#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "model/eviction.hpp"
#include "model/snapshot.hpp"
#include "policy/config.hpp"

/// The formulas of the eviction rules (reference qos-plugins sections 4 and 5), exact in integers.
namespace koordlet::policy {

/// In the order in which they name victims: what endangers the node first, then as reference 3 has
/// it (BE, allocatable, plain).
enum class EvictPlugin { kBeMemory, kMemoryAllocatable, kMemory, kBeCpu, kCpuAllocatable, kCpu };
inline constexpr int kEvictPlugins = 6;
inline constexpr std::array kAllEvictPlugins{EvictPlugin::kBeMemory,
                                             EvictPlugin::kMemoryAllocatable,
                                             EvictPlugin::kMemory,
                                             EvictPlugin::kBeCpu,
                                             EvictPlugin::kCpuAllocatable,
                                             EvictPlugin::kCpu};
/// "be_memory_evict", "memory_allocatable_evict", "memory_evict", "be_cpu_evict",
/// "cpu_allocatable_evict", "cpu_evict"
std::string_view to_string(EvictPlugin p);
/// Name in eviction-policy annotations: "BEMemoryEvict", "MemoryAllocatableEvict", "MemoryEvict",
/// "BECPUEvict", "CPUAllocatableEvict", "CPUEvict".
std::string_view feature_of(EvictPlugin p);
bool is_enabled(EvictPlugin p, const EffectiveConfig& config);
bool is_memory_plugin(EvictPlugin p);

/// What use over a threshold asks for. `rescue`: the least release that gets the use under the
/// threshold; `need`: down to the lower mark. nullopt: use is under the threshold.
struct EvictNeed {
  std::int64_t need = 0;
  std::int64_t rescue = 0;
  friend bool operator==(const EvictNeed&, const EvictNeed&) = default;
};
/// `capacity` above 0. With whole_percent 70.99 % counts as 70.
std::optional<EvictNeed> use_need(std::int64_t used, std::int64_t capacity, const UseMarks& marks);

/// Requests against what the node offers: over when sum > threshold % of it. An offer of 0 asks for
/// all of them.
std::optional<EvictNeed> request_need(std::int64_t sum,
                                      std::int64_t allocatable,
                                      const AllocatableEvictConfig& config);

/// One moment, or a mean, of what BE uses, asks for and may use.
struct BeCpuLoad {
  std::int64_t used = 0, request = 0, limit = 0;  ///< milli-cores
  friend bool operator==(const BeCpuLoad&, const BeCpuLoad&) = default;
};
/// BE would use more if it could: used >= threshold % of the limit; a limit under a core always, no
/// limit never.
bool is_hot(const BeCpuLoad& load, const BeCpuEvictConfig& config);
/// Milli-cores of request to give back: request x upper % - limit while limit <= lower % of the
/// request, else 0.
std::int64_t satisfaction_need(const BeCpuLoad& load, const BeCpuEvictConfig& config);
/// Both the mean of the window and its last sample have to agree; the smaller need counts.
std::optional<EvictNeed> be_cpu_need(const BeCpuLoad& mean,
                                     const BeCpuLoad& last,
                                     const BeCpuEvictConfig& config);

/// What the BE root itself may use: its own quota or the size of its own cpuset, whichever is less.
/// Caps of single pods do not count, they are ours. nullopt: unbounded or unknown.
std::optional<MilliCpu> be_real_limit(const Snapshot& snap);
/// The node's batch-cpu as a limit: 0 counts as 1 milli. nullopt: the node does not say.
std::optional<MilliCpu> be_allocatable_limit(const Snapshot& snap);
/// Sum of batch-cpu over active BE pods.
MilliCpu be_request(const Snapshot& snap);

}  // namespace koordlet::policy
