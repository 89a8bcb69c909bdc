#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "policy/plugin.hpp"
#include "policy/pressure_raise.hpp"

namespace koordlet::policy {

/// Engine B: pressure level from node use, pod quota = request x factor, BE-root cap for the pods
/// without a request (reference 12.3 with the decisions of design section 4).
///
/// One sample (NodeSignals::seq, from 1 up) is evaluated once; asked again, the same proposals come
/// back. Event ticks (Snapshot::may_relax false) tighten only, and leave the sample to the next
/// normal tick. Stale or missing signals, or an unknown capacity: what holds keeps holding, also
/// for pods that are new. Switched off: no proposals and a fresh state.
struct Pressure {
  static constexpr std::string_view kName = "pressure";
  struct State {
    Level level = Level::kNone;
    int factor_permille = 1000;
    int below_exit = 0;          ///< samples in a row under the exit mark
    std::uint64_t last_seq = 0;  ///< sample that was evaluated last
    MilliCpu root_cap;           ///< BE-root cap of the pods without a request; 0 = not set
    MilliCpu root_ls_used;       ///< what root_cap was computed from
    MilliCpu root_system_used;
    bool decided =
        false;  ///< a sample was evaluated or caps were adopted; before that: no proposal
    int settle_samples = 0;  ///< after adopt(): new samples to wait for before anything relaxes
    // Hold doubling: a relax step that an escalation follows within 3 s is taken back, and the
    // factor does not rise for hold_seconds (min_hold first, doubled up to max_hold). Forgotten
    // when max_hold has passed since the hold ended without another failed step.
    std::optional<MonoTime> relaxed_at;  ///< last relax step that may still turn out wrong
    int last_good_factor = 1000;         ///< the factor before that step
    int hold_seconds = 0;                ///< 0: no hold
    std::optional<MonoTime> hold_until;
    Level by_use = Level::kNone;  ///< what the node's use says
    RaiseState raise;             ///< what the latency-sensitive pods say
    // for people
    int use_permyriad = 0;              ///< node use, 1/100 %, raw (may exceed 100 %)
    std::vector<std::string> uncapped;  ///< uids of BE pods that share the BE-root cap
    MonoTime level_since;
    friend bool operator==(const State&, const State&) = default;
  };
  static Decision<State> decide(const Snapshot& snap, const EffectiveConfig& config, State state);

  /// After a restart: f = min over adopted pods of 10 x quota_us / request_m (0..1000), level =
  /// strictest whose factor >= f. Nothing relaxes before two new samples. Pods without a request
  /// are passed over.
  struct AdoptedPod {
    MilliCpu request;
    std::chrono::microseconds quota{0};
  };
  static State adopt(const std::vector<AdoptedPod>& pods,
                     const PressureConfig& config,
                     MonoTime now);
};

}  // namespace koordlet::policy
