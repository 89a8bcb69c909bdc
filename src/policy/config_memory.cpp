#include "policy/config_memory.hpp"

#include <fmt/format.h>

#include "policy/config_fields.hpp"
#include "policy/config_sections.hpp"

namespace koordlet::policy {
namespace {

void fill(std::optional<int>& field, const std::optional<int>& with) {
  if (!field) field = with;
}

/// `values` first, then what TOML states.
MemoryQosStrategy over_toml(MemoryQosStrategy values, const MemoryShare& toml) {
  fill(values.min_percent, toml.min_percent);
  fill(values.low_percent, toml.low_percent);
  fill(values.throttling_percent, toml.throttling_percent);
  return values;
}

MemoryQosStrategy toml_over(const MemoryShare& toml, MemoryQosStrategy values) {
  if (toml.min_percent) values.min_percent = toml.min_percent;
  if (toml.low_percent) values.low_percent = toml.low_percent;
  if (toml.throttling_percent) values.throttling_percent = toml.throttling_percent;
  return values;
}

/// A class that NodeSLO switches takes its values from there, then from TOML; the built-in ones are
/// for nodes on their own.
MemoryClass resolve_class(bool enable,
                          const MemoryShare& toml,
                          const MemoryQosStrategy& built_in,
                          const std::optional<MemoryQosStrategy>& slo) {
  MemoryClass out;
  if (slo && slo->enable) {
    out.enable = *slo->enable;
    out.values = over_toml(*slo, toml);
  } else {
    out.enable = enable;
    out.values = slo ? over_toml(*slo, toml) : toml_over(toml, built_in);
  }
  out.values.enable.reset();
  if (!out.enable) out.values = {};
  return out;
}

}  // namespace

MemoryQosStrategy built_in_lsr() {
  MemoryQosStrategy out;
  out.min_percent = 100;
  out.low_percent = 100;
  return out;
}

MemoryQosStrategy built_in_ls() {
  MemoryQosStrategy out;
  out.low_percent = 50;
  return out;
}

MemoryQosStrategy built_in_be() {
  MemoryQosStrategy out;
  out.throttling_percent = 80;
  return out;
}

void resolve_memory(const QosConfig& toml, const NodeSlo* slo, EffectiveConfig& out) {
  MemoryQosConfig& m = out.memory_qos = toml.memory_qos;
  const bool alone = slo == nullptr && toml.pressure_profile;
  const bool enable = !out.off && toml.memory_qos.enable.value_or(alone);
  m.enable = enable;
  const MemoryQosClasses none;
  const MemoryQosClasses& said = slo != nullptr ? slo->memory_qos : none;
  m.lsr = resolve_class(enable, m.lsr_share, built_in_lsr(), said.lsr);
  m.ls = resolve_class(enable, m.ls_share, built_in_ls(), said.ls);
  m.be = resolve_class(enable, m.be_share, built_in_be(), said.be);
  // Nothing is known of system pods: only NodeSLO switches them.
  m.system = resolve_class(false, {}, {}, said.system);

  out.memory_soften = toml.memory_soften;
  out.memory_soften.enable =
      !out.off && toml.memory_soften.enable.value_or(out.memory_evict.enable);
}

void validate_memory(const QosConfig& config, std::vector<std::string>& faults) {
  const auto range = [&faults](std::string key, int value, int low, int high) {
    if (value < low || value > high) faults.push_back(range_fault(key, value, low, high));
  };
  const auto share = [&range](std::string_view name, const MemoryShare& s) {
    const auto percent = [&](std::string_view key, const std::optional<int>& value) {
      if (value) range(fmt::format("qos.memory_qos.{}_{}_percent", name, key), *value, 0, 100);
    };
    percent("min", s.min_percent);
    percent("low", s.low_percent);
    percent("throttling", s.throttling_percent);
  };
  share("lsr", config.memory_qos.lsr_share);
  share("ls", config.memory_qos.ls_share);
  share("be", config.memory_qos.be_share);
  range("qos.memory_qos.min_bound_percent", config.memory_qos.min_bound_percent, 0, 100);
  const MemorySoftenConfig& s = config.memory_soften;
  range("qos.memory_soften.start_points", s.start_points, 1, 50);
  range("qos.memory_soften.lift_points", s.lift_points, 2, 60);
  range("qos.memory_soften.step_percent", s.step_percent, 1, 50);
  range("qos.memory_soften.step", s.step_seconds, 1, 60);
  range("qos.memory_soften.patience", s.patience_seconds, 1, 600);
  range("qos.memory_soften.over_points", s.over_points, 1, 50);
  if (s.lift_points <= s.start_points) {
    faults.push_back(
        fmt::format("qos.memory_soften.lift_points: {}: expected more than "
                    "qos.memory_soften.start_points ({})",
                    s.lift_points,
                    s.start_points));
  }
  // The rule would stay off. With eviction left to NodeSLO, the threshold is NodeSLO's too.
  const int threshold = config.memory_evict.threshold_percent;
  if (s.enable.value_or(config.memory_evict.enable) && s.lift_points >= threshold) {
    faults.push_back(
        fmt::format("qos.memory_soften.lift_points: {}: expected less than "
                    "qos.memory_evict.threshold_percent ({})",
                    s.lift_points,
                    threshold));
  }
}

}  // namespace koordlet::policy
