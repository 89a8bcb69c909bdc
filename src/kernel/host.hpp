#pragma once

#include <optional>
#include <string>

#include "base/cgroup.hpp"
#include "base/result.hpp"

namespace koordlet::kernel {

/// Where the host's trees are mounted, as seen from this process (config section [host]; a
/// container sees /host-...).
struct HostRoots {
  std::string cgroup = "/sys/fs/cgroup";
  std::string proc = "/proc";
  std::string sys = "/sys";
  std::string dev = "/dev";
};

/// v2 iff the file system type of the cgroup root is CGROUP2_SUPER_MAGIC; a hybrid host (v1
/// controllers and an empty "unified" tree) is v1. kNotFound when the root is missing;
/// kNotSupported when it is neither.
Result<CgroupVersion> detect_cgroup_version(const HostRoots& roots);

/// "kubepods.slice" is a directory: systemd; else "kubepods": cgroupfs; neither: nullopt (wait, do
/// not guess).
std::optional<CgroupDriver> detect_cgroup_driver(const HostRoots& roots, CgroupVersion version);

/// Text of <proc>/sys/kernel/random/boot_id.
Result<std::string> read_boot_id(const HostRoots& roots);

}  // namespace koordlet::kernel
