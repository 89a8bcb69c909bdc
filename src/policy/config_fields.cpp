#include "policy/config_fields.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "policy/config_sections.hpp"

namespace koordlet::policy {

const PressureField& pressure_field(int PressureConfig::*value) {
  const auto it = std::find_if(kPressureFields.begin(),
                               kPressureFields.end(),
                               [value](const PressureField& f) { return f.value == value; });
  if (it == kPressureFields.end()) throw std::logic_error{"pressure rule names an unknown field"};
  return *it;
}

std::string range_fault(std::string_view path, long long value, int low, int high) {
  return fmt::format("{}: {}: expected {} to {}", path, value, low, high);
}

std::vector<std::string> validate(const QosConfig& config) {
  std::vector<std::string> faults;
  const auto range = [&faults](std::string_view path, int value, int low, int high) {
    if (value < low || value > high) faults.push_back(range_fault(path, value, low, high));
  };
  const PressureConfig& p = config.pressure;
  for (const auto& f : kPressureFields) {
    range(fmt::format("qos.pressure.{}", f.toml), p.*f.value, f.low, f.high);
  }
  for (const auto& rule : kPressureRules) {
    const auto& small = pressure_field(rule.smaller);
    const auto& large = pressure_field(rule.larger);
    // A number that is out of its range was named already.
    if (!small.in_range(p.*rule.smaller) || !large.in_range(p.*rule.larger)) continue;
    if (rule.holds(p)) continue;
    faults.push_back(fmt::format("qos.pressure.{}: {}: expected {} qos.pressure.{} ({})",
                                 small.toml,
                                 p.*rule.smaller,
                                 rule.may_equal ? "at most" : "less than",
                                 large.toml,
                                 p.*rule.larger));
  }
  range("qos.suppress.threshold_percent", config.suppress.threshold_percent, 0, 100);
  if (config.suppress.min_percent) {
    range("qos.suppress.min_percent", *config.suppress.min_percent, 0, 100);
  }
  if (config.suppress.policy == SuppressPolicy::kPodQuota && !p.enable) {
    faults.push_back(
        "qos.suppress.policy: podQuota: expected qos.pressure.enable = true, for podQuota is the "
        "pressure rule");
  }
  range("qos.starvation.percent", config.starvation.percent, 1, 50);
  range("qos.starvation.after", config.starvation.seconds, 10, 3600);
  range("qos.starvation.floor_percent", config.starvation.floor_percent, 1, 100);
  range("qos.identity.be_shares", config.identity.be_shares, 2, 262'144);
  range("qos.identity.be_weight", config.identity.be_weight, 1, 10'000);
  validate_evict(config, faults);
  validate_levers(config, faults);
  validate_burst(config.burst, faults);
  validate_memory(config, faults);
  if (config.node_stale_seconds < 1 || config.node_stale_seconds > 3600) {
    faults.push_back(
        fmt::format("qos.node_stale: {} s: expected 1 s to 1 h", config.node_stale_seconds));
  }
  range("qos.pods_stale_intervals_tenths", config.pods_stale_intervals_tenths, 10, 1000);
  return faults;
}

}  // namespace koordlet::policy
