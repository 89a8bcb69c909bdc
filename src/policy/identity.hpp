#pragma once

#include <vector>

#include "policy/plugin.hpp"

namespace koordlet::policy {

/// Who goes first on a CPU: quota bounds how much BE runs, this how late LS wakes (floors reference
/// 4.4). Group identity where the kernel has it, else a low weight of the BE root; cpu.idle of BE
/// pods where configured.
struct Identity {
  static constexpr std::string_view kName = "identity";
  struct State {
    friend bool operator==(const State&, const State&) = default;
  };
  static Decision<State> decide(const Snapshot& snap, const EffectiveConfig& config, State state);
};

/// Pod directories whose tasks share one core scheduling cookie: the active BE pods; empty unless
/// core scheduling is configured. Sorted.
std::vector<CgroupPath> core_sched_wish(const NodeState& state, const EffectiveConfig& config);

}  // namespace koordlet::policy
