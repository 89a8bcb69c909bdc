#pragma once

#include <optional>
#include <vector>

#include "policy/plugin.hpp"

namespace koordlet::policy {

/// Engine A: BE budget = capacity x T - LS use - system use, applied as cpuset or as quota of the
/// BE root (reference section 2, with its weak points done right).
struct Suppress {
  static constexpr std::string_view kName = "suppress";
  struct State {
    std::uint64_t last_seq = 0;
    std::optional<MilliCpu> budget;  ///< last computed, may be negative
    MilliCpu ls_used;                ///< what the budget was computed from
    MilliCpu system_used;
    std::optional<CpuSet> cpuset;  ///< last proposed
    std::optional<std::int64_t> quota_us;
    friend bool operator==(const State&, const State&) = default;
  };
  static Decision<State> decide(const Snapshot& snap, const EffectiveConfig& config, State state);
};

/// suppress_m of reference 2.1; may be negative. nullopt: an input is unknown.
std::optional<MilliCpu> suppress_budget(const Snapshot& snap, const SuppressConfig& config);

}  // namespace koordlet::policy
