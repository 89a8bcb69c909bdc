#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "policy/plugin.hpp"

namespace koordlet::policy {

/// Protects the memory of pods by their requests, and throttles them before their limit
/// (reference 7, "cgreconcile"): containers and pods by their class, the class groups and the
/// kubepods root with the sums, so that the protection counts all the way down. When a class is
/// switched off its proposals vanish, and every file gets its original back.
///
/// The sum of memory.min is at most min_bound_percent of MemTotal: above it every min shrinks alike
/// and the rest is protected as memory.low. memory.oom.group is proposed for pods and containers
/// only: on a group above them one OOM would kill everything below it.
struct MemoryQos {
  static constexpr std::string_view kName = "memory_qos";
  /// For people, and for whoever asks what can still be allocated.
  struct Summary {
    bool on = false;
    std::string why;  ///< why nothing is proposed although a class is on; "" else
    int pods = 0;     ///< with at least one file
    Bytes min_wanted, min_sum, low_sum;  ///< of all pods: before and after the bound
    int min_permille = 1000;             ///< share of the wanted min that is given
    /// Page cache that memory.min keeps from being reclaimed, and MemAvailable without it: what an
    /// allocation can really get. nullopt: the node's memory is unknown.
    std::optional<Bytes> protected_cache, available;
    int unmeasured = 0;  ///< pods with a min whose memory is not known: not in protected_cache
    friend bool operator==(const Summary&, const Summary&) = default;
  };
  struct State {
    Summary summary;
    friend bool operator==(const State&, const State&) = default;
  };
  static Decision<State> decide(const Snapshot& snap, const EffectiveConfig& config, State state);
};

}  // namespace koordlet::policy
