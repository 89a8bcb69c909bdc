#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "kernel/cgroup_layout.hpp"
#include "kernel/host.hpp"
#include "model/node_state.hpp"
#include "modules/states_informer/manifest_folder.hpp"
#include "modules/states_informer/merge.hpp"

namespace koordlet::states {

/// What the informer does, without its loops: reads the folder, finds the driver, replaces the
/// state.
class StateKeeper {
 public:
  StateKeeper(ManifestFolder folder,
              std::string node_name,
              kernel::HostRoots roots,
              CgroupVersion version);

  /// Looks for the kubepods tree. Once it was there its driver stays until the other one is seen:
  /// pods keep their paths while kubelet makes the tree anew.
  void find_layout();
  const std::optional<kernel::CgroupLayout>& layout() const { return layout_; }

  /// Starts a reading of the folder; a folder that cannot be listed is a fault from then on, and
  /// the objects stay.
  Result<void> begin_scan();
  /// The files of a reading, one by one (ManifestFolder).
  bool scan_pending() const { return folder_.pending(); }
  std::optional<ManifestFolder::Job> next_job(WallTime now) { return folder_.next(now); }
  void apply(const ManifestFolder::Job& job, ManifestFile read) {
    folder_.apply(job, std::move(read));
  }
  /// A whole reading at once.
  Result<void> scan(WallTime now);

  /// Makes the state of what was read. True: the content differs from the last one, and the version
  /// has risen; false: only the times have moved. `extra` are faults from elsewhere.
  bool publish(MonoTime now, const std::vector<std::string>& extra);
  const std::shared_ptr<const NodeState>& state() const { return state_; }

 private:
  ManifestFolder folder_;
  std::string node_name_;
  kernel::HostRoots roots_;
  CgroupVersion version_;
  std::optional<kernel::CgroupLayout> layout_;
  std::string folder_fault_;
  std::shared_ptr<const NodeState> state_;

  // What the merged objects were made of.
  Merged merged_;
  std::optional<std::uint64_t> merged_generation_;
  std::optional<CgroupDriver> merged_driver_;
};

}  // namespace koordlet::states
