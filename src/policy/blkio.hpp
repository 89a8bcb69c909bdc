#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "policy/plugin.hpp"

namespace koordlet::policy {

/// Limits and weights of disks: the BE root, pods that ask for it by annotation, and the cost model
/// of the whole machine (reference section 9). What is no longer wished gets its original back.
struct BlkIo {
  static constexpr std::string_view kName = "blkio";
  struct State {
    std::vector<std::string> faults;  ///< a block that names nothing; an annotation out of bounds
    std::uint64_t settings = 0;       ///< device settings proposed now
    friend bool operator==(const State&, const State&) = default;
  };
  static Decision<State> decide(const Snapshot& snap, const EffectiveConfig& config, State state);
};

}  // namespace koordlet::policy
