#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/proposal.hpp"
#include "model/snapshot.hpp"
#include "policy/config.hpp"

/// What best effort gets of what it asked for, and what is done when that is next to nothing. Pure.
namespace koordlet::policy {

/// One BE pod over its newest sample.
struct BeProgress {
  std::optional<Permille> share;      ///< CPU use of the request; nullopt: one of them is unknown
  std::optional<Permille> throttled;  ///< periods in which its quota stopped it
  /// Share of the time in which some of its tasks wanted a CPU and had none (its own CPU PSI).
  std::optional<double> wait_percent;
  friend bool operator==(const BeProgress&, const BeProgress&) = default;
};
BeProgress be_progress(const Pod& pod, const PodUsage* usage);

/// All BE pods that state a request and were measured. nullopt: there is none.
std::optional<Permille> class_progress(const NodeState& state,
                                       const std::map<std::string, PodUsage>& usage);

/// Pods that starve: under `percent` of their request while they want more, for `seconds`.
struct StarvationState {
  struct Hungry {
    MonoTime since;   ///< of the first sample that says so
    MonoTime sample;  ///< newest one looked at
    bool starving = false;
    Permille share;
    friend bool operator==(const Hungry&, const Hungry&) = default;
  };
  std::map<std::string, Hungry> pods;  ///< by uid; those below the mark
  std::vector<std::string> starving;   ///< uids, sorted
  MilliCpu wanted;                     ///< floor that the starving ones ask for together
  /// What is granted of it: 0 while nobody starves, or the node has no room for it.
  MilliCpu floor;
  MilliCpu room;    ///< what BE may have in all below the HIGH threshold; 0: none, or unknown
  std::string why;  ///< one line: whose floor, or why there is none; "" nobody starves
  friend bool operator==(const StarvationState&, const StarvationState&) = default;
};

/// One step. Hungry: share under `percent`, and throttled or waiting (what is idle does not
/// starve). Starving: hungry over all samples of `seconds`. It ends when a sample shows `percent`
/// more than the floor gives (twice `percent` at least), or nothing that it waits for. Without a
/// young sample what was known holds.
///
/// The floor is `floor_percent` of the starving pods' requests, at most what the node has left
/// below the HIGH threshold beside everything that is not BE, and none while the node is used to
/// 95 % or a latency-sensitive pod stalls as at HIGH.
StarvationState starvation(const Snapshot& snap,
                           const EffectiveConfig& config,
                           StarvationState state);

/// Lifts CPU caps of starving pods to their floor, and the quota of the BE root to what they need
/// together; never above `State::floor` in sum. Keeps proposals that are not caps.
void raise_to_floor(std::vector<Proposal>& proposals,
                    const Snapshot& snap,
                    const EffectiveConfig& config,
                    const StarvationState& state);

}  // namespace koordlet::policy
