#include <fmt/format.h>

#include "policy/config_fields.hpp"
#include "policy/config_sections.hpp"

namespace koordlet::policy {
namespace {

constexpr std::string_view kSection = "spec.resourceUsedThresholdWithBE";

/// Takes one number that is present; out of range it counts as not said and `good` holds. True: it
/// holds.
template <class T>
bool take(T& out,
          const std::optional<int>& said,
          const T& good,
          std::string_view name,
          int low,
          int high,
          std::vector<std::string>& faults) {
  if (!said) return false;
  if (*said >= low && *said <= high) {
    out = *said;
    return true;
  }
  faults.push_back(range_fault(fmt::format("{}.{}", kSection, name), *said, low, high));
  out = good;
  return false;
}

/// One of the fields of kEvictFields.
template <class T>
bool take(T& out,
          const EvictThresholds& slo,
          std::optional<int> EvictThresholds::*field,
          const T& good,
          std::vector<std::string>& faults) {
  for (const auto& f : kEvictFields) {
    if (f.value == field) return take(out, slo.*field, good, f.name, f.low, f.high, faults);
  }
  return false;
}

void merge_memory(const ThresholdStrategy& slo, const EffectiveConfig& good, EffectiveConfig& out) {
  MemoryEvictConfig& m = out.memory_evict;
  if (slo.memory_evict_threshold_percent) {
    m.whole_percent = take(m.threshold_percent,
                           slo.memory_evict_threshold_percent,
                           good.memory_evict.threshold_percent,
                           "memoryEvictThresholdPercent",
                           0,
                           100,
                           out.faults) ||
                      good.memory_evict.whole_percent;
  }
  take(m.lower_percent,
       slo.memory_evict_lower_percent,
       good.memory_evict.lower_percent,
       "memoryEvictLowerPercent",
       0,
       100,
       out.faults);
}

void merge_cpu(const EvictThresholds& e, const EffectiveConfig& good, EffectiveConfig& out) {
  auto& faults = out.faults;
  using E = EvictThresholds;
  take(out.be_cpu_evict.lower_percent,
       e,
       &E::cpu_be_satisfaction_lower_percent,
       good.be_cpu_evict.lower_percent,
       faults);
  take(out.be_cpu_evict.upper_percent,
       e,
       &E::cpu_be_satisfaction_upper_percent,
       good.be_cpu_evict.upper_percent,
       faults);
  take(out.be_cpu_evict.usage_threshold_percent,
       e,
       &E::cpu_be_usage_threshold_percent,
       good.be_cpu_evict.usage_threshold_percent,
       faults);
  if (e.cpu_policy) out.be_cpu_evict.by_allocatable = *e.cpu_policy == CpuEvictPolicy::kAllocatable;
  take(out.evict.cpu_window_seconds,
       e,
       &E::cpu_time_window_seconds,
       good.evict.cpu_window_seconds,
       faults);
  if (e.cpu_threshold_percent) {
    out.cpu_evict.whole_percent = take(out.cpu_evict.threshold_percent,
                                       e,
                                       &E::cpu_threshold_percent,
                                       good.cpu_evict.threshold_percent,
                                       faults) ||
                                  good.cpu_evict.whole_percent;
  }
  take(out.cpu_evict.lower_percent, e, &E::cpu_lower_percent, good.cpu_evict.lower_percent, faults);
}

void merge_allocatable(const EvictThresholds& e,
                       const EffectiveConfig& good,
                       EffectiveConfig& out) {
  using E = EvictThresholds;
  const auto number = [&](auto& to, auto field, const auto& last) {
    take(to, e, field, last, out.faults);
  };
  auto& cpu = out.cpu_allocatable_evict;
  const auto& good_cpu = good.cpu_allocatable_evict;
  number(cpu.threshold_percent, &E::cpu_allocatable_threshold_percent, good_cpu.threshold_percent);
  number(cpu.lower_percent, &E::cpu_allocatable_lower_percent, good_cpu.lower_percent);
  auto& memory = out.memory_allocatable_evict;
  const auto& good_memory = good.memory_allocatable_evict;
  number(memory.threshold_percent,
         &E::memory_allocatable_threshold_percent,
         good_memory.threshold_percent);
  number(memory.lower_percent, &E::memory_allocatable_lower_percent, good_memory.lower_percent);
  auto& evict = out.evict;
  number(evict.priority_threshold, &E::priority_threshold, good.evict.priority_threshold);
  number(evict.allocatable_priority_threshold,
         &E::allocatable_priority_threshold,
         good.evict.allocatable_priority_threshold);
}

/// The section is on: which rules have all that they need?
void switch_on(const EvictThresholds& e, EffectiveConfig& out) {
  if (e.cpu_be_satisfaction_lower_percent && e.cpu_be_satisfaction_upper_percent) {
    out.be_cpu_evict.enable = true;
  }
  if (e.cpu_threshold_percent) out.cpu_evict.enable = true;
  if (e.priority_threshold) out.memory_evict.by_priority = true;
  if (e.cpu_allocatable_threshold_percent && e.cpu_allocatable_lower_percent) {
    out.cpu_allocatable_evict.enable = true;
  }
  if (e.memory_allocatable_threshold_percent && e.memory_allocatable_lower_percent) {
    out.memory_allocatable_evict.enable = true;
  }
}

/// Switches a rule off whose lower mark is not lower.
void check_pair(bool& enable,
                int lower,
                int threshold,
                std::string_view lower_name,
                std::string_view threshold_name,
                std::string_view rule,
                std::vector<std::string>& faults) {
  if (!enable || lower < threshold) return;
  enable = false;
  faults.push_back(fmt::format("{}.{}: {}: expected less than {} ({}); {} is off",
                               kSection,
                               lower_name,
                               lower,
                               threshold_name,
                               threshold,
                               rule));
}

/// Switches a rule off that does not know whom it may evict.
void check_bound(bool& enable,
                 const std::optional<int>& bound,
                 std::string_view name,
                 std::string_view rule,
                 std::vector<std::string>& faults) {
  if (!enable || bound) return;
  enable = false;
  faults.push_back(
      fmt::format("{}.{}: absent: expected a priority; {} is off", kSection, name, rule));
}

}  // namespace

void merge_evict(const ThresholdStrategy& slo, const EffectiveConfig& good, EffectiveConfig& out) {
  if (slo.enable) out.memory_evict.enable = *slo.enable;
  merge_memory(slo, good, out);
  merge_cpu(slo.evict, good, out);
  merge_allocatable(slo.evict, good, out);
  if (slo.enable.value_or(false)) switch_on(slo.evict, out);
}

void check_evict(EffectiveConfig& out) {
  auto& faults = out.faults;
  MemoryEvictConfig& m = out.memory_evict;
  const bool both = m.enable || m.by_priority;
  bool memory = both;
  check_pair(memory,
             m.lower(),
             m.threshold_percent,
             "memoryEvictLowerPercent",
             "memoryEvictThresholdPercent",
             "memory eviction",
             faults);
  if (both && !memory) m.enable = m.by_priority = false;
  check_pair(out.cpu_evict.enable,
             out.cpu_evict.lower(),
             out.cpu_evict.threshold_percent,
             "cpuEvictLowerPercent",
             "cpuEvictThresholdPercent",
             "cpu_evict",
             faults);
  check_pair(out.cpu_allocatable_evict.enable,
             out.cpu_allocatable_evict.lower_percent,
             out.cpu_allocatable_evict.threshold_percent,
             "cpuAllocatableEvictLowerPercent",
             "cpuAllocatableEvictThresholdPercent",
             "cpu_allocatable_evict",
             faults);
  check_pair(out.memory_allocatable_evict.enable,
             out.memory_allocatable_evict.lower_percent,
             out.memory_allocatable_evict.threshold_percent,
             "memoryAllocatableEvictLowerPercent",
             "memoryAllocatableEvictThresholdPercent",
             "memory_allocatable_evict",
             faults);
  BeCpuEvictConfig& be = out.be_cpu_evict;
  if (be.enable && be.upper_percent < be.lower_percent) {
    be.enable = false;
    faults.push_back(
        fmt::format("{}.cpuEvictBESatisfactionUpperPercent: {}: expected at least "
                    "cpuEvictBESatisfactionLowerPercent ({}); be_cpu_evict is off",
                    kSection,
                    be.upper_percent,
                    be.lower_percent));
  }
  constexpr std::string_view kBound = "evictEnabledPriorityThreshold";
  constexpr std::string_view kAllocatableBound = "allocatableEvictPriorityThreshold";
  check_bound(m.by_priority, out.evict.priority_threshold, kBound, "memory_evict", faults);
  check_bound(out.cpu_evict.enable, out.evict.priority_threshold, kBound, "cpu_evict", faults);
  const auto& allocatable = out.evict.allocatable_priority_threshold;
  check_bound(out.cpu_allocatable_evict.enable,
              allocatable,
              kAllocatableBound,
              "cpu_allocatable_evict",
              faults);
  check_bound(out.memory_allocatable_evict.enable,
              allocatable,
              kAllocatableBound,
              "memory_allocatable_evict",
              faults);
}

}  // namespace koordlet::policy
