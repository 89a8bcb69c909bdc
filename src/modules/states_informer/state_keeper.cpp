#include "modules/states_informer/state_keeper.hpp"

#include <utility>

namespace koordlet::states {

StateKeeper::StateKeeper(ManifestFolder folder,
                         std::string node_name,
                         kernel::HostRoots roots,
                         CgroupVersion version)
    : folder_{std::move(folder)},
      node_name_{std::move(node_name)},
      roots_{std::move(roots)},
      version_{version},
      state_{std::make_shared<const NodeState>()} {}

void StateKeeper::find_layout() {
  if (const auto driver = kernel::detect_cgroup_driver(roots_, version_)) {
    layout_ = kernel::CgroupLayout{*driver};
  }
}

Result<void> StateKeeper::begin_scan() {
  auto done = folder_.begin();
  folder_fault_ = done ? std::string{} : done.error().context;
  return done;
}

Result<void> StateKeeper::scan(WallTime now) {
  if (auto listed = begin_scan(); !listed) return listed;
  while (scan_pending()) {
    if (const auto job = next_job(now)) apply(*job, ManifestFolder::run(*job));
  }
  return {};
}

bool StateKeeper::publish(MonoTime now, const std::vector<std::string>& extra) {
  const auto driver = layout_ ? std::optional{layout_->driver()} : std::nullopt;
  if (merged_generation_ != folder_.generation() || merged_driver_ != driver) {
    merged_ = merge(folder_.files(), node_name_, layout_, *state_);
    merged_generation_ = folder_.generation();
    merged_driver_ = driver;
  }
  const NodeState& old = *state_;
  auto next = std::make_shared<NodeState>();
  next->node = merged_.node;
  next->pods = merged_.pods;
  next->slo = merged_.slo;
  next->faults = merged_.faults;
  next->faults.insert(next->faults.end(), extra.begin(), extra.end());
  if (!folder_fault_.empty()) next->faults.push_back(folder_fault_);

  const bool listed = folder_fault_.empty();
  next->pods_at = listed && merged_.pods_confirmed ? now : old.pods_at;
  next->node_at = listed && merged_.node_confirmed ? now : old.node_at;
  next->slo_at = listed && merged_.slo_confirmed ? now : old.slo_at;

  // Equal objects are equal pointers: merge keeps them.
  const bool changed = old.version == 0 || next->node != old.node || next->slo != old.slo ||
                       next->pods != old.pods || next->faults != old.faults;
  next->version = old.version + (changed ? 1 : 0);
  state_ = std::move(next);
  return changed;
}

}  // namespace koordlet::states
