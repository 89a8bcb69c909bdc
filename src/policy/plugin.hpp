#pragma once

#include <vector>

#include "model/proposal.hpp"
#include "model/snapshot.hpp"
#include "policy/config.hpp"

/// A plugin is a pure function (Snapshot, EffectiveConfig, State) -> (Proposals, State'). No clock,
/// file, log or global; the order in which plugins run does not matter (a test runs the
/// permutations).
namespace koordlet::policy {

template <class State>
struct Decision {
  std::vector<Proposal> proposals;
  State state;
};

}  // namespace koordlet::policy
