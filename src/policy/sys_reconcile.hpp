#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "policy/plugin.hpp"

namespace koordlet::policy {

/// Settings of the whole machine (NodeSLO systemStrategy, TOML [qos.system]; reference section
/// 10). A field that is not set leaves its file alone; one that is taken away gives it back.
struct SysReconcile {
  static constexpr std::string_view kName = "sys_reconcile";
  struct State {
    std::vector<std::string> faults;  ///< values out of range, one line each
    std::uint64_t settings = 0;       ///< files and features proposed now
    friend bool operator==(const State&, const State&) = default;
  };
  static Decision<State> decide(const Snapshot& snap, const EffectiveConfig& config, State state);
};

}  // namespace koordlet::policy
