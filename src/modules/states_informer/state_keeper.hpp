#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "kernel/cgroup_layout.hpp"
#include "kernel/host.hpp"
#include "model/node_state.hpp"
#include "modules/states_informer/source.hpp"

namespace koordlet::states {

/// Holds the state: finds the cgroup driver, and replaces the state by what the source has.
class StateKeeper {
 public:
  StateKeeper(kernel::HostRoots roots, CgroupVersion version);

  /// Looks for the kubepods tree. Once it was there its driver stays until the other one is seen:
  /// pods keep their paths while kubelet makes the tree anew.
  void find_layout();
  const std::optional<kernel::CgroupLayout>& layout() const { return layout_; }

  /// Makes the state of `content`. True: it differs from the last one, and the version has risen;
  /// false: only the times have moved. `extra` are faults from elsewhere.
  bool publish(Content content, const std::vector<std::string>& extra);
  const std::shared_ptr<const NodeState>& state() const { return state_; }

 private:
  kernel::HostRoots roots_;
  CgroupVersion version_;
  std::optional<kernel::CgroupLayout> layout_;
  std::shared_ptr<const NodeState> state_;
};

}  // namespace koordlet::states
