#pragma once

#include "base/cgroup.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "kernel/host.hpp"

namespace koordlet::kernel {

enum class Reclaimed {
  kAll,   ///< the kernel freed at least what was asked for
  kPart,  ///< it freed less, maybe nothing (EAGAIN): normal
};

/// memory.reclaim exists for `cgroup`: v2 from 5.19 on, with the memory controller.
bool has_memory_reclaim(const HostRoots& roots, CgroupVersion version, const CgroupPath& cgroup);
/// Asks the kernel to reclaim `amount` (above 0) from `cgroup` and all below it, once. Blocks while
/// it does so, up to seconds: for a helper thread. kNotSupported: v1, or a kernel before 5.19;
/// kNotFound, kGone: the cgroup went away; others as write_file().
Result<Reclaimed> reclaim_memory(const HostRoots& roots,
                                 CgroupVersion version,
                                 const CgroupPath& cgroup,
                                 Bytes amount);

}  // namespace koordlet::kernel
