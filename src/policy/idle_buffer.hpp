#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "policy/plugin.hpp"

namespace koordlet::policy {

/// Keeps a number of logical CPUs idle for latency-sensitive pods, whatever they use (blind
/// isolation: the buffer covers what wakes up between two looks, 100 ms here).
///
///   room = capacity - buffer - (node use - BE use)      what BE may use with the buffer still idle
///   idle = capacity - node use
///   idle < buffer, or allowance > room + hysteresis:    allowance = room, at once, in any tick
///   idle > buffer + hysteresis:                         allowance + 1 core, at most room; one step
///                                                       a sample of a normal tick
///
/// The allowance is the quota of the BE root or the size of the BE cpuset. `room` does not depend
/// on what BE uses itself, so a sample that still shows the time before a cut does not cut twice.
struct IdleBuffer {
  static constexpr std::string_view kName = "idle_buffer";
  struct State {
    std::optional<MilliCpu> allowance;  ///< nullopt: nothing is bounded
    std::optional<CpuSet> cpuset;       ///< proposed, when by cpuset
    std::optional<MilliCpu> idle;       ///< of the last sample that was looked at; nullopt: none
    std::optional<MilliCpu> room;       ///< may be negative
    bool by_cpuset = false;
    std::uint64_t last_seq = 0;
    std::uint64_t cuts = 0, steps = 0;  ///< since it was switched on
    std::string why;  ///< why nothing is decided now; "" while it decides, or is off
    friend bool operator==(const State&, const State&) = default;
  };
  static Decision<State> decide(const Snapshot& snap, const EffectiveConfig& config, State state);
};

/// True while the rule is on: class counters are polled then.
bool idle_buffer_on(const EffectiveConfig& config);

}  // namespace koordlet::policy
