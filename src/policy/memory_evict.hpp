#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/eviction.hpp"
#include "model/snapshot.hpp"
#include "policy/config.hpp"
#include "policy/memory_evict_ledger.hpp"

namespace koordlet::policy {

/// What an eviction plugin needs beside the snapshot.
struct EvictInput {
  /// The API server answers and the pods are those it says. False: nothing is evicted.
  bool api_ok = false;
  std::vector<EvictionOutcome> outcomes;  ///< since the last call, each exactly once
};

/// Where a plugin stands, for people.
enum class EvictPhase {
  kOff,
  kBlind,       ///< an input is unknown or too old: nothing is evicted
  kIdle,        ///< below the threshold
  kConfirming,  ///< over it, waits for a second sample
  kMeasuring,   ///< waits for young samples of the candidates
  kReleasing,   ///< memory is on its way out, waits for it
  kHeld,        ///< limits or refusals forbid the next one for now
  kNoVictim,    ///< nobody may be evicted
  kHopeless,    ///< all victims together would not get under the threshold
  kAsking,      ///< a victim is named
};
/// "off", "blind", "idle", "confirming", "measuring", "releasing", "held", "no-victim",
/// "hopeless", "asking"
std::string_view to_string(EvictPhase p);

/// Evicts BE pods, one at a time, while the node's memory is over a threshold (reference 5, with
/// its weak points done right). Pure: no clock, file or log.
///
/// A sample (NodeSignals::seq) counts once, and only in normal ticks (Snapshot::may_relax); an
/// event tick repeats what is asked. The wish stays the same, and is repeated, until its outcome
/// comes or the need for it is over. Limits survive being switched off and on.
struct MemoryEvict {
  static constexpr std::string_view kName = "memory_evict";
  static constexpr std::string_view kFeature = "BEMemoryEvict";  ///< in eviction-policy annotations
  struct State {
    std::uint64_t last_seq = 0;
    MonoTime last_at;  ///< of that sample
    int over = 0;      ///< samples in a row over the threshold, since the last victim
    MonoTime over_since;
    std::optional<EvictionWish> asked;  ///< no outcome yet
    std::optional<MonoTime> measuring_since;
    EvictionLedger ledger;
    // for people
    EvictPhase phase = EvictPhase::kOff;
    std::string why;        ///< one line with the numbers; "" when idle or off
    int use_permyriad = 0;  ///< node memory in use, 1/100 %
    Bytes need;             ///< to free until the lower mark, 0 when idle
    Bytes pending;          ///< of it on the way out
    Bytes reachable;        ///< what all victims hold that may be evicted now
    int candidates = 0;     ///< how many those are
    friend bool operator==(const State&, const State&) = default;
  };
  struct Answer {
    std::vector<EvictionWish> wishes;  ///< none or one
    /// The memory of the BE pods should be measured before the next tick: the choice needs samples
    /// of at most 10 s.
    bool want_fresh_pods = false;
    State state;
  };
  static Answer decide(const Snapshot& snap,
                       const EffectiveConfig& config,
                       const EvictInput& input,
                       State state);
};

/// "12.0 GiB", "512.0 MiB", "100 B": cut off, not rounded.
std::string bytes_text(Bytes bytes);

}  // namespace koordlet::policy
