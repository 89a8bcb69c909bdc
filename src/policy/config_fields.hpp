#pragma once

#include <array>
#include <string>
#include <string_view>

#include "policy/config.hpp"

/// Names, ranges and mutual rules of the pressure numbers, stated once for TOML and NodeSLO.
namespace koordlet::policy {

struct PressureField {
  std::string_view toml;  ///< below "qos.pressure."
  std::string_view slo;   ///< below "spec.extensions.qosPressure."; "" = not in NodeSLO
  int PressureConfig::*value;
  std::optional<int> PressureStrategy::*field;  ///< nullptr = not in NodeSLO
  int low;
  int high;
  bool in_range(int v) const { return v >= low && v <= high; }
};

/// `smaller` must stay below `larger`, or may also equal it.
struct PressureRule {
  int PressureConfig::*smaller;
  int PressureConfig::*larger;
  bool may_equal;
  bool holds(const PressureConfig& c) const {
    return may_equal ? c.*smaller <= c.*larger : c.*smaller < c.*larger;
  }
};

inline constexpr std::array kPressureFields{
    PressureField{"mid_percent",
                  "midPercent",
                  &PressureConfig::mid_percent,
                  &PressureStrategy::mid_percent,
                  1,
                  99},
    PressureField{"high_percent",
                  "highPercent",
                  &PressureConfig::high_percent,
                  &PressureStrategy::high_percent,
                  2,
                  100},
    PressureField{"exit_margin_percent",
                  "exitMarginPercent",
                  &PressureConfig::exit_margin_percent,
                  &PressureStrategy::exit_margin_percent,
                  0,
                  98},
    PressureField{"factor_none_permille",
                  "factorPermille.none",
                  &PressureConfig::factor_none_permille,
                  &PressureStrategy::factor_none_permille,
                  1,
                  1000},
    PressureField{"factor_mid_permille",
                  "factorPermille.mid",
                  &PressureConfig::factor_mid_permille,
                  &PressureStrategy::factor_mid_permille,
                  1,
                  1000},
    PressureField{"factor_high_permille",
                  "factorPermille.high",
                  &PressureConfig::factor_high_permille,
                  &PressureStrategy::factor_high_permille,
                  1,
                  1000},
    PressureField{"relax_hold_samples",
                  "relaxHoldSamples",
                  &PressureConfig::relax_hold_samples,
                  &PressureStrategy::relax_hold_samples,
                  1,
                  3600},
    PressureField{"relax_step_permille",
                  "relaxStepPermille",
                  &PressureConfig::relax_step_permille,
                  &PressureStrategy::relax_step_permille,
                  1,
                  1000},
    PressureField{"psi_mid_percent",
                  "psiMidPercent",
                  &PressureConfig::psi_mid_percent,
                  &PressureStrategy::psi_mid_percent,
                  1,
                  99},
    PressureField{"psi_high_percent",
                  "psiHighPercent",
                  &PressureConfig::psi_high_percent,
                  &PressureStrategy::psi_high_percent,
                  2,
                  100},
    PressureField{"degree_mid",
                  "degreeMid",
                  &PressureConfig::degree_mid,
                  &PressureStrategy::degree_mid,
                  1,
                  99},
    PressureField{"degree_high",
                  "degreeHigh",
                  &PressureConfig::degree_high,
                  &PressureStrategy::degree_high,
                  2,
                  100},
    PressureField{"raise_min_be_percent",
                  "raiseMinBePercent",
                  &PressureConfig::raise_min_be_percent,
                  &PressureStrategy::raise_min_be_percent,
                  0,
                  100},
    // The kernel takes no quota under 1 ms; one period's worth is a whole core.
    PressureField{"min_quota_us",
                  "minQuotaUs",
                  &PressureConfig::min_quota_us,
                  &PressureStrategy::min_quota_us,
                  1000,
                  100'000},
    PressureField{"default_request_milli",
                  "defaultRequestMilli",
                  &PressureConfig::default_request_milli,
                  &PressureStrategy::default_request_milli,
                  0,
                  1'000'000},
    PressureField{"min_hold_seconds", "", &PressureConfig::min_hold_seconds, nullptr, 1, 3600},
    PressureField{"max_hold_seconds", "", &PressureConfig::max_hold_seconds, nullptr, 1, 86'400},
};

inline constexpr std::array kPressureRules{
    PressureRule{&PressureConfig::mid_percent, &PressureConfig::high_percent, false},
    PressureRule{&PressureConfig::psi_mid_percent, &PressureConfig::psi_high_percent, false},
    PressureRule{&PressureConfig::degree_mid, &PressureConfig::degree_high, false},
    PressureRule{&PressureConfig::exit_margin_percent, &PressureConfig::mid_percent, false},
    PressureRule{&PressureConfig::factor_mid_permille, &PressureConfig::factor_none_permille, true},
    PressureRule{&PressureConfig::factor_high_permille, &PressureConfig::factor_mid_permille, true},
    PressureRule{&PressureConfig::min_hold_seconds, &PressureConfig::max_hold_seconds, true},
};

/// The field that `value` belongs to; every rule names fields of the table.
const PressureField& pressure_field(int PressureConfig::*value);

/// "path: value: expected low to high"
std::string range_fault(std::string_view path, long long value, int low, int high);

}  // namespace koordlet::policy
