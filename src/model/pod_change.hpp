#pragma once

#include <vector>

#include "base/cgroup.hpp"
#include "model/node_state.hpp"

namespace koordlet {

/// Cgroups of pods that were resized in place: running in both states, with other CPU or memory in
/// a container that was running already. Kubelet writes new values into their control files.
std::vector<CgroupPath> resized_pods(const NodeState& before, const NodeState& after);

}  // namespace koordlet
