#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/snapshot.hpp"
#include "policy/pressure_raise.hpp"

/// Did a cap help? For each cut of best effort: what the latency-sensitive pods felt before it and
/// after it had settled, and the node's use. Pure; runs beside the plugins and changes nothing.
namespace koordlet::policy {

/// The signals, the one that says most first.
enum class EffectSignal { kDegree, kPsiFull, kPsiSome, kRunQueueP95 };
std::string_view to_string(EffectSignal s);  ///< "interference degree", "cpu psi full", ...
std::string_view unit_of(EffectSignal s);    ///< "of 100", "%", "us"

/// kUnknown: the signal is missing, or the cap was lifted before it could show.
enum class EffectVerdict { kHelped, kNoChange, kWorse, kUnknown };
std::string_view to_string(EffectVerdict v);  ///< "helped", "no_change", "worse", "unknown"

/// A quota takes hold within one period (p99 32 ms), the writes of a whole node within a tick.
inline constexpr std::chrono::seconds kEffectSettle{2};
/// Length of the time before and of the time after that are compared.
inline constexpr std::chrono::seconds kEffectSpan{10};
/// After this the windows of the pods are waited for no longer (they come each 10 s).
inline constexpr std::chrono::seconds kEffectPatience{35};

/// One signal of the pod that felt it most before the cut, and of the same pod after it.
struct SignalChange {
  EffectSignal signal{};
  std::string uid;
  std::optional<double> before, after;  ///< in unit_of(signal); nullopt: unknown, never zero
  friend bool operator==(const SignalChange&, const SignalChange&) = default;
};

/// One cut and what came of it.
struct CapEffect {
  MonoTime since;       ///< of the cut
  MonoTime settled;     ///< of the last cut that belongs to it, and kEffectSettle
  std::string trigger;  ///< what was cut: "level NONE to HIGH, factor 1000 to 300 permille"
  std::optional<SignalChange> lead;                 ///< the signal that the verdict goes by
  std::vector<SignalChange> signals;                ///< all that were known before the cut
  std::optional<MilliCpu> node_before, node_after;  ///< mean use of the node
  std::optional<EffectVerdict> verdict;             ///< nullopt: not fallen yet
  std::string why;                                  ///< one line for the verdict; "" before it
  MonoTime judged_at;                               ///< of the verdict
  friend bool operator==(const CapEffect&, const CapEffect&) = default;
};

/// How far best effort is bounded now, by any engine.
struct CapView {
  Level level = Level::kNone;
  int factor_permille = 1000;
  std::optional<MilliCpu> class_cap;  ///< budget of the BE root; nullopt: none
  friend bool operator==(const CapView&, const CapView&) = default;
};

struct EffectState {
  struct Sample {
    std::uint64_t seq = 0;
    MonoTime at;
    MilliCpu used;
    std::optional<MilliCpu> class_cap;
    friend bool operator==(const Sample&, const Sample&) = default;
  };
  std::deque<Sample> recent;                            ///< of the last kEffectSpan
  std::map<std::string, std::deque<LsSignal>> windows;  ///< newest windows of each pod, by uid
  std::optional<CapView> last;                          ///< nullopt: nothing to compare with yet
  std::optional<CapView> before;                        ///< of `open`: what held before the cut
  std::optional<CapEffect> open;                        ///< not judged yet
  MilliCpu after_sum;                                   ///< node use since `open` settled
  std::int64_t after_count = 0;
  std::deque<CapEffect> done;  ///< judged, newest first, kEffectsKept at most
};
inline constexpr std::size_t kEffectsKept = 10;

/// One step. `in_force` false (switched off, dry run, restored): what is open ends as unknown. A
/// cut is a level that rises, a factor that falls, or a class cap that falls by 10 % within 10 s or
/// appears below what BE uses; cuts before the first one settled belong to it. Returns the effect
/// whose verdict fell in this step.
std::optional<CapEffect> observe_effect(const Snapshot& snap,
                                        const CapView& view,
                                        bool in_force,
                                        EffectState& state);

}  // namespace koordlet::policy
