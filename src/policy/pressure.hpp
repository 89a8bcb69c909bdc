#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "policy/plugin.hpp"

namespace koordlet::policy {

enum class Level { kNone, kMid, kHigh };
std::string_view to_string(Level l);  ///< "NONE", "MID", "HIGH"

/// Engine B: pressure level from node use, pod quota = request x factor, BE-root cap for the pods
/// without a request (reference 12.3 with the decisions of design section 4).
struct Pressure {
  static constexpr std::string_view kName = "pressure";
  struct State {
    Level level = Level::kNone;
    int factor_permille = 1000;
    int below_exit = 0;          ///< samples in a row under the exit mark
    std::uint64_t last_seq = 0;  ///< sample that was evaluated last
    MilliCpu root_cap;           ///< BE-root cap of the pods without a request; 0 = not set
    // hold doubling
    std::optional<MonoTime> relaxed_at;
    int last_good_factor = 1000;
    int hold_seconds = 0;  ///< 0: no hold
    std::optional<MonoTime> hold_until;
    // for people
    int use_permyriad = 0;              ///< node use, 1/100 %, raw (may exceed 100 %)
    std::vector<std::string> uncapped;  ///< uids of BE pods that share the BE-root cap
    MonoTime level_since;
    friend bool operator==(const State&, const State&) = default;
  };
  static Decision<State> decide(const Snapshot& snap, const EffectiveConfig& config, State state);

  /// After a restart: f = min over adopted pods of 10 x quota_us / request_m, level = strictest
  /// whose factor >= f.
  struct AdoptedPod {
    MilliCpu request;
    std::chrono::microseconds quota{0};
  };
  static State adopt(const std::vector<AdoptedPod>& pods,
                     const PressureConfig& config,
                     MonoTime now);
};

}  // namespace koordlet::policy
