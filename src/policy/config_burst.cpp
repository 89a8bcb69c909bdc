#include <fmt/format.h>

#include "policy/config_fields.hpp"
#include "policy/config_sections.hpp"

namespace koordlet::policy {
namespace {

constexpr int kDay = 86'400;

void merge_strategy(const CpuBurstStrategy& slo, BurstConfig& out) {
  // Whoever names a policy has decided: its own section switches it, not the one of suppression.
  if (slo.policy) {
    out.enable = true;
    out.policy = *slo.policy;
  }
  if (slo.burst_percent) out.burst_percent = slo.burst_percent;
  out.quota_percent = slo.quota_percent.value_or(out.quota_percent);
  out.period_seconds = slo.quota_period_seconds.value_or(out.period_seconds);
  out.pool_percent = slo.pool_threshold_percent.value_or(out.pool_percent);
}

void merge_gate(const PressureStrategy& slo, const EffectiveConfig& good, EffectiveConfig& out) {
  if (!slo.burst_gate_percent) return;
  const int said = *slo.burst_gate_percent;
  if (said >= 1 && said <= 100) {
    out.burst.gate_percent = said;
    return;
  }
  out.faults.push_back(range_fault("spec.extensions.qosPressure.burstGatePercent", said, 1, 100));
  out.burst.gate_percent = good.burst.gate_percent;
}

}  // namespace

void resolve_burst(const QosConfig& toml,
                   const NodeSlo* slo,
                   const EffectiveConfig& good,
                   EffectiveConfig& out) {
  BurstConfig& b = out.burst = toml.burst;
  const bool pressure = toml.pressure_profile;
  b.enable = !out.off && toml.burst.enable.value_or(slo == nullptr && pressure);
  if (!b.burst_percent) {
    b.burst_percent = pressure ? kStandAloneBurstPercent : kKoordinatorBurstPercent;
  }
  if (!b.gate_percent && pressure) b.gate_percent = kBurstGatePercent;
  if (slo == nullptr) return;
  if (slo->burst) merge_strategy(*slo->burst, b);
  if (slo->pressure) merge_gate(*slo->pressure, good, out);
}

void validate_burst(const BurstConfig& b, std::vector<std::string>& faults) {
  const auto range = [&faults](std::string_view key, int value, int low, int high) {
    if (value >= low && value <= high) return;
    faults.push_back(range_fault(fmt::format("qos.burst.{}", key), value, low, high));
  };
  if (b.burst_percent) range("burst_percent", *b.burst_percent, 0, 10'000);
  range("quota_percent", b.quota_percent, 100, 10'000);
  if (b.period_seconds == 0) {
    faults.push_back("qos.burst.period_seconds: 0: expected -1 (no budget) or 1 to 86400");
  } else {
    range("period_seconds", b.period_seconds, -1, kDay);
  }
  range("pool_percent", b.pool_percent, 0, 100);
  if (b.gate_percent) range("gate_percent", *b.gate_percent, 1, 100);
  range("shrink_after", b.shrink_seconds, 1, kDay);
  range("annotation_max_burst_percent", b.annotation_max_burst_percent, 0, 10'000);
  range("annotation_max_quota_percent", b.annotation_max_quota_percent, 100, 10'000);
}

}  // namespace koordlet::policy
