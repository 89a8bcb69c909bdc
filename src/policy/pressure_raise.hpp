#pragma once

#include <map>
#include <optional>
#include <string>

#include "model/snapshot.hpp"
#include "policy/config.hpp"

/// What latency-sensitive pods feel may raise the pressure level above what the node's use says,
/// and never lowers it (design section 4): their own CPU stalls (PSI "full"), less their own
/// throttling, and the interference that best effort causes. Pure.
///
/// Node PSI plays no part: one capped hog stalls all the time, and the cap would keep itself. While
/// best effort uses next to nothing, nothing is raised either: it cannot be the cause.
namespace koordlet::policy {

enum class Level { kNone, kMid, kHigh };
std::string_view to_string(Level l);  ///< "NONE", "MID", "HIGH"

/// A raise has to show that it helps: a pod whose signal has not fallen by a quarter within 10 s
/// after it is not hurt by best effort, and is not heard for 10 minutes.
inline constexpr std::chrono::seconds kRaiseTrial{10};
inline constexpr std::chrono::minutes kNotCausedByBe{10};

struct RaiseState {
  /// What a pod felt when its signal began to raise the level.
  struct Trial {
    MonoTime since;
    double value = 0;
    bool by_psi = false;
    friend bool operator==(const Trial&, const Trial&) = default;
  };
  std::map<std::string, Trial> trials;      ///< by uid
  std::map<std::string, MonoTime> ignored;  ///< by uid: not caused by best effort, until then
  // for people
  Level level = Level::kNone;
  std::string uid;     ///< of the pod that raises most; "" none
  std::string reason;  ///< one line with the numbers; "" none
  friend bool operator==(const RaiseState&, const RaiseState&) = default;
};

/// The level that the signals ask for. `by_use`: what the node's use says; a pod is on trial only
/// while it asks for more than that.
RaiseState raise(const Snapshot& snap,
                 const PressureConfig& config,
                 const NodeSignals& signals,
                 MilliCpu capacity,
                 Level by_use,
                 RaiseState state);

}  // namespace koordlet::policy
