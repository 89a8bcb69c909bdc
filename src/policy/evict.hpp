#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/eviction.hpp"
#include "model/snapshot.hpp"
#include "policy/config.hpp"
#include "policy/evict_ledger.hpp"
#include "policy/evict_task.hpp"
#include "policy/evict_window.hpp"

namespace koordlet::policy {

/// What the eviction rules need beside the snapshot.
struct EvictInput {
  /// The API server answers and the pods are those it says. False: nothing is evicted.
  bool api_ok = false;
  std::vector<EvictionOutcome> outcomes;  ///< since the last call, each exactly once
  /// Squeezing best effort may still get the node under its memory threshold (softening_holds):
  /// rules by used memory wait for it.
  bool softening = false;
};

/// Where a rule stands, for people.
enum class EvictPhase {
  kOff,
  kBlind,       ///< an input is unknown or too old: nothing is evicted
  kIdle,        ///< below the threshold
  kConfirming,  ///< over it, waits for a second sample
  kMeasuring,   ///< waits for young samples of the candidates
  kReleasing,   ///< enough is on its way out, or a victim is: waits for it
  kHeld,        ///< limits, refusals or a cool-down forbid the next one for now
  kNoVictim,    ///< nobody may be evicted
  kHopeless,    ///< all victims together would not get the node under the threshold
  kAsking,      ///< a victim is named
};
/// "off", "blind", "idle", "confirming", "measuring", "releasing", "held", "no-victim",
/// "hopeless", "asking"
std::string_view to_string(EvictPhase p);

/// Evicts pods, one at a time on the whole node, while one of six rules says that something has to
/// go (reference qos-plugins 3 to 5, with their weak points done right). Pure: no clock, file or
/// log.
///
/// A sample (NodeSignals::seq) counts once, and only in normal ticks (Snapshot::may_relax); an
/// event tick repeats what is asked. The wish stays the same, and is repeated, until its outcome
/// comes or the need for it is over. All rules share one ledger, so that what a victim of one gives
/// counts for the others. Limits survive being switched off and on.
struct Evict {
  /// One rule.
  struct Rule {
    int over = 0;  ///< samples in a row over the threshold, since the last victim
    MonoTime over_since;
    std::optional<MonoTime> measuring_since;
    // for people
    EvictPhase phase = EvictPhase::kOff;
    std::string why;         ///< one line with the numbers; "" when idle or off
    int use_permyriad = 0;   ///< what the threshold is compared with, 1/100 %
    EvictAmounts need;       ///< to free until the lower mark; none when idle
    EvictAmounts pending;    ///< of it on the way out
    EvictAmounts reachable;  ///< what all victims hold that may be evicted now
    int candidates = 0;      ///< how many those are
    friend bool operator==(const Rule&, const Rule&) = default;
  };
  struct State {
    std::optional<MonoTime> started;  ///< the first call
    std::uint64_t last_seq = 0;
    MonoTime last_at;                   ///< of that sample
    CpuWindow window;                   ///< nothing in it is from before the last victim has left
    std::optional<EvictionWish> asked;  ///< no outcome yet
    EvictionLedger ledger;
    std::array<Rule, kEvictPlugins> rules;  ///< index: EvictPlugin
    Rule& rule(EvictPlugin p) { return rules[static_cast<std::size_t>(p)]; }
    const Rule& rule(EvictPlugin p) const { return rules[static_cast<std::size_t>(p)]; }
    friend bool operator==(const State&, const State&) = default;
  };
  struct Answer {
    std::vector<EvictionWish> wishes;  ///< none or one
    /// The pods should be measured before the next tick: the choice needs samples of at most
    /// kFreshPods.
    bool want_fresh_pods = false;
    State state;
  };
  /// `order`: in which the rules are judged; each of them once. It makes no difference.
  static Answer decide(const Snapshot& snap,
                       const EffectiveConfig& config,
                       const EvictInput& input,
                       State state,
                       std::span<const EvictPlugin> order = kAllEvictPlugins);
};

}  // namespace koordlet::policy
