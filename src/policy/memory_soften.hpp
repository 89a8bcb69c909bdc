#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "policy/plugin.hpp"

namespace koordlet::policy {

/// Where softening stands, for people.
enum class SoftenPhase {
  kOff,
  kUnsupported,  ///< cgroup v1 has no memory.high
  kBlind,        ///< an input is unknown or too old: what holds keeps holding
  kIdle,
  kSoftening,  ///< BE is squeezed, and there is more to take
  kAtFloor,    ///< BE has no more than it asked for: nothing left to take
};
/// "off", "unsupported", "blind", "idle", "softening", "at-floor"
std::string_view to_string(SoftenPhase p);

/// One memory.reclaim. An action: it is done once and leaves nothing to give back.
struct ReclaimWish {
  MonoTime at;  ///< when it was decided; tells one wish from the next
  CgroupPath cgroup;
  Bytes amount;
  std::string reason;
  friend bool operator==(const ReclaimWish&, const ReclaimWish&) = default;
};

/// Squeezes BE before anything is evicted (design section 4): from start_points under the eviction
/// threshold memory.high of the BE root is use - min(need, step_percent of use) each step_seconds,
/// never under what the BE pods asked for, and lifted lift_points under the threshold. Never raised
/// on the way. A step that finds BE still above the last one's limit asks the kernel to reclaim the
/// difference, at most `reclaim`. Samples count once and only in normal ticks.
struct MemorySoften {
  static constexpr std::string_view kName = "memory_soften";
  struct State {
    SoftenPhase phase = SoftenPhase::kOff;
    std::string why;  ///< one line with the numbers; "" when off or idle
    std::uint64_t last_seq = 0;
    std::optional<Bytes> high;  ///< proposed for the BE root
    Bytes floor;
    std::optional<MonoTime> stepped_at;
    std::optional<MonoTime> over_since;  ///< node over the eviction threshold, without a break
    std::optional<MonoTime> hold_until;  ///< eviction may wait until then
    std::uint64_t steps = 0;             ///< since it was switched on
    /// The newest that was asked for; nullopt once softening is lifted.
    std::optional<ReclaimWish> reclaim;
    std::uint64_t reclaims = 0;  ///< asked for since it was switched on
    bool can_reclaim = false;    ///< the kernel has memory.reclaim
    friend bool operator==(const State&, const State&) = default;
  };
  static Decision<State> decide(const Snapshot& snap, const EffectiveConfig& config, State state);
};

/// True while eviction should wait, because softening may still get the node under its threshold:
/// there is memory to take, the node is not over_points over the threshold, and not over it for
/// patience_seconds. False whenever softening is off, unsupported, blind or at its floor. Ask after
/// decide() of the same snapshot.
bool softening_holds(const MemorySoften::State& state, MonoTime now);

}  // namespace koordlet::policy
