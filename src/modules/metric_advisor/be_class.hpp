#pragma once

#include "model/node_state.hpp"
#include "model/snapshot.hpp"

namespace koordlet {

/// CPU that pods labelled BE ask for, those that ended left out (reference metrics 2.4 and 10.5).
MilliCpu be_request(const NodeState& state);
/// The most the class can use: its CPUs x 1000, or its quota when that is less.
MilliCpu be_real_limit(const BeRoot& root);

}  // namespace koordlet
