#include "policy/evict_rules.hpp"

#include <algorithm>

#include "policy/be_view.hpp"
#include "policy/evict_victims.hpp"

namespace koordlet::policy {

std::string_view to_string(EvictPlugin p) {
  switch (p) {
    case EvictPlugin::kBeMemory:
      return "be_memory_evict";
    case EvictPlugin::kMemoryAllocatable:
      return "memory_allocatable_evict";
    case EvictPlugin::kMemory:
      return "memory_evict";
    case EvictPlugin::kBeCpu:
      return "be_cpu_evict";
    case EvictPlugin::kCpuAllocatable:
      return "cpu_allocatable_evict";
    case EvictPlugin::kCpu:
      return "cpu_evict";
  }
  return "?";
}

std::string_view feature_of(EvictPlugin p) {
  switch (p) {
    case EvictPlugin::kBeMemory:
      return "BEMemoryEvict";
    case EvictPlugin::kMemoryAllocatable:
      return "MemoryAllocatableEvict";
    case EvictPlugin::kMemory:
      return "MemoryEvict";
    case EvictPlugin::kBeCpu:
      return "BECPUEvict";
    case EvictPlugin::kCpuAllocatable:
      return "CPUAllocatableEvict";
    case EvictPlugin::kCpu:
      return "CPUEvict";
  }
  return "?";
}

bool is_enabled(EvictPlugin p, const EffectiveConfig& config) {
  if (config.off) return false;
  switch (p) {
    case EvictPlugin::kBeMemory:
      return config.memory_evict.enable;
    case EvictPlugin::kMemoryAllocatable:
      return config.memory_allocatable_evict.enable;
    case EvictPlugin::kMemory:
      return config.memory_evict.by_priority;
    case EvictPlugin::kBeCpu:
      return config.be_cpu_evict.enable;
    case EvictPlugin::kCpuAllocatable:
      return config.cpu_allocatable_evict.enable;
    case EvictPlugin::kCpu:
      return config.cpu_evict.enable;
  }
  return false;
}

bool is_memory_plugin(EvictPlugin p) {
  return p == EvictPlugin::kBeMemory || p == EvictPlugin::kMemoryAllocatable ||
         p == EvictPlugin::kMemory;
}

std::optional<EvictNeed> use_need(std::int64_t used, std::int64_t capacity, const UseMarks& marks) {
  const Wide whole = capacity;
  if (Wide{used} * 100 < whole * marks.threshold_percent) return std::nullopt;
  EvictNeed out;
  if (marks.whole_percent) {
    const auto percent = Wide{used} * 100 / whole;
    out.need = static_cast<std::int64_t>(whole * (percent - marks.lower()) / 100);
  } else {
    out.need = used - static_cast<std::int64_t>(whole * marks.lower() / 100);
  }
  // The largest use that is still under the threshold: 100 x use <= threshold x capacity - 1.
  out.rescue = used - static_cast<std::int64_t>((whole * marks.threshold_percent - 1) / 100);
  if (out.need <= 0) return std::nullopt;
  return out;
}

std::optional<EvictNeed> request_need(std::int64_t sum,
                                      std::int64_t allocatable,
                                      const AllocatableEvictConfig& config) {
  if (sum <= 0) return std::nullopt;
  // Not all of them need to be victims for each to help.
  if (allocatable <= 0) return EvictNeed{sum, 1};
  const Wide offer = allocatable;
  if (Wide{sum} * 100 <= offer * config.threshold_percent) return std::nullopt;
  EvictNeed out;
  out.need = sum - static_cast<std::int64_t>(offer * config.lower_percent / 100);
  out.rescue = sum - static_cast<std::int64_t>(offer * config.threshold_percent / 100);
  return out;
}

bool is_hot(const BeCpuLoad& load, const BeCpuEvictConfig& config) {
  if (load.limit <= 0) return false;
  if (load.limit < 1000) return true;
  return Wide{load.used} * 100 >= Wide{load.limit} * config.usage_threshold_percent;
}

std::int64_t satisfaction_need(const BeCpuLoad& load, const BeCpuEvictConfig& config) {
  if (load.request <= 0) return 0;
  if (Wide{load.limit} * 100 > Wide{load.request} * config.lower_percent) return 0;
  const Wide need = Wide{load.request} * config.upper_percent / 100 - load.limit;
  return static_cast<std::int64_t>(std::max<Wide>(need, 0));
}

std::optional<EvictNeed> be_cpu_need(const BeCpuLoad& mean,
                                     const BeCpuLoad& last,
                                     const BeCpuEvictConfig& config) {
  const auto by_mean = satisfaction_need(mean, config);
  if (!is_hot(mean, config) || by_mean <= 0 || !is_hot(last, config)) return std::nullopt;
  const bool steady = last.request == mean.request && last.limit == mean.limit;
  EvictNeed out;
  out.need = steady ? by_mean : std::min(by_mean, satisfaction_need(last, config));
  if (out.need <= 0) return std::nullopt;
  // The largest request that the limit satisfies: lower x request <= 100 x limit - 1.
  const Wide good = (Wide{last.limit} * 100 - 1) / config.lower_percent;
  out.rescue = static_cast<std::int64_t>(std::max<Wide>(last.request - good, 1));
  return out;
}

std::optional<MilliCpu> be_real_limit(const Snapshot& snap) {
  if (!snap.be_root) return std::nullopt;
  std::optional<MilliCpu> out;
  const CpuMax& max = snap.be_root->cpu_max;
  if (const auto& quota = max.quota.bound(); quota && max.period.count() > 0) {
    out = MilliCpu{static_cast<std::int64_t>(Wide{quota->count()} * 1000 / max.period.count())};
  }
  if (!snap.be_root->cpuset.empty()) {
    const MilliCpu cpus{std::int64_t{snap.be_root->cpuset.count()} * 1000};
    out = out ? std::min(*out, cpus) : cpus;
  }
  return out;
}

std::optional<MilliCpu> be_allocatable_limit(const Snapshot& snap) {
  const auto& node = snap.state->node;
  if (!node || !node->batch_cpu_allocatable || node->batch_cpu_allocatable->v < 0) {
    return std::nullopt;
  }
  return MilliCpu{std::max<std::int64_t>(node->batch_cpu_allocatable->v, 1)};
}

MilliCpu be_request(const Snapshot& snap) {
  EvictAmounts sum;
  for (const auto& pod : snap.state->pods) {
    if (is_active(*pod) && is_best_effort(*pod)) sum += request_amounts(*pod);
  }
  return {sum[EvictResource::kBatchCpu]};
}

}  // namespace koordlet::policy
