#include "modules/states_informer/state_keeper.hpp"

#include <utility>

namespace koordlet::states {

StateKeeper::StateKeeper(kernel::HostRoots roots, CgroupVersion version)
    : roots_{std::move(roots)}, version_{version}, state_{std::make_shared<const NodeState>()} {}

void StateKeeper::find_layout() {
  if (const auto driver = kernel::detect_cgroup_driver(roots_, version_)) {
    layout_ = kernel::CgroupLayout{*driver};
  }
}

bool StateKeeper::publish(Content content, const std::vector<std::string>& extra) {
  const NodeState& old = *state_;
  auto next = std::make_shared<NodeState>();
  next->node = std::move(content.node);
  next->pods = std::move(content.pods);
  next->slo = std::move(content.slo);
  next->metric = std::move(content.metric);
  next->faults = std::move(content.faults);
  next->faults.insert(next->faults.end(), extra.begin(), extra.end());
  next->pods_at = content.pods_at;
  next->node_at = content.node_at;
  next->slo_at = content.slo_at;
  next->metric_at = content.metric_at;

  // Equal objects are equal pointers: the source keeps them. That pods or NodeSLO are known at
  // last, and empty, is a change as well.
  const auto known = [](const NodeState& s) {
    return std::pair{s.pods_at != MonoTime{}, s.slo_at != MonoTime{}};
  };
  const bool changed = old.version == 0 || next->node != old.node || next->slo != old.slo ||
                       next->metric != old.metric || next->pods != old.pods ||
                       next->faults != old.faults || known(*next) != known(old);
  next->version = old.version + (changed ? 1 : 0);
  state_ = std::move(next);
  return changed;
}

}  // namespace koordlet::states
