#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/cpu_burst_rules.hpp"
#include "policy/plugin.hpp"

namespace koordlet::policy {

/// Lets containers that are not BE run above their CPU limit for a while (reference 6, with its
/// weak points done right): static burst (unused quota may be saved up) and quota burst (the quota
/// of a throttled container grows while the shared CPUs are idle).
///
/// Pure: what counts as the present quota of a container is what was proposed last. A container
/// without a quota in the kernel is never throttled, so nothing is ever proposed for it. A sample
/// of a container lets its quota grow once; event ticks repeat what holds.
struct CpuBurst {
  static constexpr std::string_view kName = "cpu_burst";
  /// One sample of what LS pods and the system use.
  struct PoolSample {
    MonoTime at;
    MilliCpu not_be;
    friend bool operator==(const PoolSample&, const PoolSample&) = default;
  };
  struct Container {
    std::string id;                      ///< a new one starts from the spec again
    std::int64_t quota_us = 0;           ///< boosted; 0: the one of the spec
    BurstTokens tokens;                  ///< outlives restarts of the container
    MonoTime sample_at;                  ///< of the last sample that was counted
    std::optional<MonoTime> calm_since;  ///< idle and not throttled
    std::string why;                     ///< the last move, with its numbers
    friend bool operator==(const Container&, const Container&) = default;
  };
  /// For people.
  struct Summary {
    bool on = false;
    PoolState pool = PoolState::kUnknown;
    std::optional<int> pool_permille;  ///< use of the share pool
    bool gate_open = false;
    std::string why;   ///< pool and gate in one line
    int bursting = 0;  ///< containers with a static burst
    int boosted = 0;   ///< containers above the quota of their spec
    int denied = 0;    ///< containers whose budget is used up
    friend bool operator==(const Summary&, const Summary&) = default;
  };
  struct State {
    std::optional<MonoTime> last_at;  ///< last normal tick
    std::uint64_t last_seq = 0;
    std::vector<PoolSample> window;
    std::map<std::string, Container> containers;  ///< by "<pod uid>/<name>"
    Summary summary;
    friend bool operator==(const State&, const State&) = default;
  };
  static Decision<State> decide(const Snapshot& snap, const EffectiveConfig& config, State state);
};

}  // namespace koordlet::policy
