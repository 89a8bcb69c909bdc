#include "policy/config.hpp"

#include <fmt/format.h>

#include "policy/config_fields.hpp"
#include "policy/config_sections.hpp"

namespace koordlet::policy {
namespace {

constexpr std::string_view kThreshold = "spec.resourceUsedThresholdWithBE";
constexpr std::string_view kPressure = "spec.extensions.qosPressure";

/// Takes a NodeSLO percent that is present; out of range it counts as not said and `good` holds.
template <class T>
void take_percent(T& out,
                  const std::optional<int>& field,
                  const T& good,
                  std::string_view name,
                  std::vector<std::string>& faults) {
  if (!field) return;
  if (*field >= 0 && *field <= 100) {
    out = *field;
    return;
  }
  faults.push_back(range_fault(fmt::format("{}.{}", kThreshold, name), *field, 0, 100));
  out = good;
}

void merge_threshold(const ThresholdStrategy& slo,
                     const EffectiveConfig& good,
                     EffectiveConfig& out) {
  if (slo.enable) {
    out.off = !*slo.enable;
    out.suppress.enable = *slo.enable;
  }
  take_percent(out.suppress.threshold_percent,
               slo.cpu_suppress_threshold_percent,
               good.suppress.threshold_percent,
               "cpuSuppressThresholdPercent",
               out.faults);
  take_percent(out.suppress.min_percent,
               slo.cpu_suppress_min_percent,
               good.suppress.min_percent,
               "cpuSuppressMinPercent",
               out.faults);
  if (slo.cpu_suppress_policy) out.suppress.policy = *slo.cpu_suppress_policy;
  merge_evict(slo, good, out);
}

void merge_pressure(const PressureStrategy& slo,
                    const EffectiveConfig& good,
                    EffectiveConfig& out) {
  PressureConfig next = out.pressure;
  for (const auto& f : kPressureFields) {
    if (f.field == nullptr || !(slo.*f.field)) continue;
    const int said = *(slo.*f.field);
    if (f.in_range(said)) {
      next.*f.value = said;
      continue;
    }
    out.faults.push_back(range_fault(fmt::format("{}.{}", kPressure, f.slo), said, f.low, f.high));
    next.*f.value = good.pressure.*f.value;
  }
  if (slo.relax_guard) next.relax_guard = *slo.relax_guard;
  if (slo.raise_by_psi) next.raise_by_psi = *slo.raise_by_psi;
  if (slo.raise_by_interference) next.raise_by_interference = *slo.raise_by_interference;
  // Switching on or off contradicts nothing: it holds even when the numbers are refused.
  const bool enable = slo.enable.value_or(out.pressure.enable);

  bool contradiction = false;
  for (const auto& rule : kPressureRules) {
    if (rule.holds(next)) continue;
    contradiction = true;
    out.faults.push_back(fmt::format("{}.{}: {}: expected {} {} ({})",
                                     kPressure,
                                     pressure_field(rule.smaller).slo,
                                     next.*rule.smaller,
                                     rule.may_equal ? "at most" : "less than",
                                     pressure_field(rule.larger).slo,
                                     next.*rule.larger));
  }
  out.pressure = contradiction ? good.pressure : next;
  out.pressure.enable = enable;
}

}  // namespace

bool be_root_limited(const EffectiveConfig& config) {
  return !config.off && config.suppress.enable &&
         config.suppress.policy == SuppressPolicy::kCfsQuota;
}

EffectiveConfig resolve(const QosConfig& toml,
                        const NodeSlo* slo,
                        const EffectiveConfig* last_good) {
  EffectiveConfig out;
  out.pressure = toml.pressure;
  // The koordinator profile runs the pressure rule only when NodeSLO asks for it.
  if (!toml.pressure_profile) out.pressure.enable = false;
  out.suppress = toml.suppress;
  out.idle_buffer = toml.idle_buffer;
  out.starvation = toml.starvation;
  out.identity = toml.identity;
  out.evict = toml.evict;
  out.memory_evict = toml.memory_evict;
  out.cpu_evict = toml.cpu_evict;
  out.be_cpu_evict = toml.be_cpu_evict;
  out.cpu_allocatable_evict = toml.cpu_allocatable_evict;
  out.memory_allocatable_evict = toml.memory_allocatable_evict;
  // With a NodeSLO the cluster speaks Koordinator, where only the label makes a pod BE for
  // eviction.
  if (!out.evict.include_kube_best_effort) {
    out.evict.include_kube_best_effort = slo == nullptr;
  }
  out.hooks = toml.hooks;
  out.hands_off_namespaces = toml.hands_off_namespaces;
  out.node_stale_seconds = toml.node_stale_seconds;
  const EffectiveConfig base = out;
  const EffectiveConfig& good = last_good ? *last_good : base;

  const PressureStrategy* pressure = nullptr;
  if (slo == nullptr) {
    out.off = !toml.local_without_nodeslo;
  } else {
    if (slo->threshold) merge_threshold(*slo->threshold, good, out);
    if (slo->pressure) {
      pressure = &*slo->pressure;
      merge_pressure(*pressure, good, out);
    }
  }
  check_evict(out);
  resolve_levers(toml, slo, good, out);
  resolve_burst(toml, slo, good, out);
  resolve_memory(toml, slo, out);
  if (out.suppress.policy == SuppressPolicy::kPodQuota) {
    out.suppress.enable = false;
    if (pressure == nullptr || !pressure->enable) out.pressure.enable = true;
  }
  return out;
}

}  // namespace koordlet::policy
