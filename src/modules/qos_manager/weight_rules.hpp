#pragma once

#include "kernel/cgroup_fs.hpp"
#include "model/node_state.hpp"
#include "model/snapshot.hpp"

namespace koordlet {

/// By which curve this node's kubelet and runtime make cpu.weight from shares, seen on pods that
/// are not BE and ask for CPU: nobody else writes their weight. `last` stays where no pod tells. A
/// few reads; cgroup v2 only.
WeightRules seen_weight_rules(const NodeState& state, kernel::Cgroups& cgroups, WeightRules last);

}  // namespace koordlet
