#pragma once

#include "policy/plugin.hpp"

namespace koordlet::policy {

/// BE's low scheduling weight: quota bounds how much BE runs, weight how late LS wakes (floors
/// reference 4.4).
struct Identity {
  static constexpr std::string_view kName = "identity";
  struct State {
    friend bool operator==(const State&, const State&) = default;
  };
  static Decision<State> decide(const Snapshot& snap, const EffectiveConfig& config, State state);
};

}  // namespace koordlet::policy
