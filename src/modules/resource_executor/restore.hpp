#pragma once

#include <optional>
#include <vector>

#include "modules/resource_executor/resource_executor.hpp"

namespace koordlet::executor {

/// One file to give back: `original` goes in when the kernel still shows `ours` in the cgroup
/// `inode`.
struct Restoration {
  CgroupKey key;
  CgroupValue original;
  CgroupValue ours;
  kernel::Inode inode = 0;
  int order = 0;
};

/// Gives back, in the planner's order, without suspending. One outcome each, in the order given:
/// kWritten, kUnchanged (original already, or somebody else's value, which stays), kGone, kDryRun,
/// or the failure.
std::vector<Outcome> restore_files(kernel::Cgroups& cgroups,
                                   const std::vector<Restoration>& files,
                                   bool dry_run);

}  // namespace koordlet::executor
