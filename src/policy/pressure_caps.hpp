#pragma once

#include <vector>

#include "policy/be_view.hpp"
#include "policy/pressure.hpp"

/// The files of engine B: what its state means for the BE root and for each pod.
namespace koordlet::policy {

/// Brings State::root_cap to the signals: cuts at once, rises slowly and only for a new sample.
/// Does nothing while no pod without a request lives below the BE root.
void update_root_cap(Pressure::State& state,
                     const Snapshot& snap,
                     const EffectiveConfig& config,
                     const BePods& pods,
                     const NodeSignals& signals,
                     MilliCpu capacity,
                     bool is_new);

/// Quota that a BE pod with this request gets at `factor_permille`.
std::int64_t pod_quota_us(MilliCpu request, int factor_permille, const PressureConfig& config);

/// Follows from the state alone, so a held state keeps its caps and a new pod gets its own at once.
std::vector<Proposal> pressure_caps(const Pressure::State& state,
                                    const Snapshot& snap,
                                    const PressureConfig& config,
                                    const BePods& pods);

}  // namespace koordlet::policy
