#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "policy/plugin.hpp"

namespace koordlet::policy {

/// Cache ways and memory bandwidth of the classes (reference section 8). Writes schemata of control
/// groups that are there; making groups and moving tasks is the shell's part (ResctrlGroups), which
/// goes by resctrl_wish().
struct Resctrl {
  static constexpr std::string_view kName = "resctrl";
  struct State {
    std::vector<std::string> faults;
    std::uint64_t settings = 0;  ///< domains of schemata proposed now
    friend bool operator==(const State&, const State&) = default;
  };
  static Decision<State> decide(const Snapshot& snap, const EffectiveConfig& config, State state);
};

/// Ways start..end percent of a cache with `cbm` (all ways), rounded up; contiguous and at least
/// `min_bits` wide: a narrower one grows upwards, at the top end downwards. nullopt unless cbm is
/// 2^n - 1 and 0 <= start < end <= 100.
std::optional<std::uint64_t> way_mask(std::uint64_t cbm, int min_bits, int start, int end);

/// `percent` of memory bandwidth in the unit of the machine. nullopt: outside 1..100, or the
/// machine counts MB/s, of which nobody knows how many there are.
std::optional<std::int64_t> bandwidth(const ResctrlState& state, int percent);

/// Control group of a pod's class; "" when it has none, or the pod names a group of its own.
std::string resctrl_group(const Pod& pod, const ResctrlConfig& config);

/// Control groups that there should be, and the cgroups of the pods whose tasks belong into each.
/// Containers, and the pod's own directory for what lives in none of them. Pure.
struct ResctrlWish {
  /// Group name -> cgroups of its pods, sorted; a group without pods is empty. A pod directory
  /// stands for all containers below it.
  std::map<std::string, std::vector<CgroupPath>> groups;
  friend bool operator==(const ResctrlWish&, const ResctrlWish&) = default;
};
/// Tasks of pods that hands are kept off stay where they are (policy/hands_off.hpp).
ResctrlWish resctrl_wish(const NodeState& state,
                         const ResctrlConfig& config,
                         const std::vector<std::string>& hands_off_namespaces = {});

}  // namespace koordlet::policy
