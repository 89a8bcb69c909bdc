#pragma once

#include <string>
#include <string_view>

#include "base/cgroup.hpp"
#include "base/result.hpp"
#include "kernel/host.hpp"

/// Where a control file lies: the spelling of v1 and v2, for this floor alone.
namespace koordlet::kernel {

struct FileName {
  std::string_view controller;  ///< v1 hierarchy; a co-mount "cpu,cpuacct" has links of these names
  std::string_view v1;
  std::string_view v2;
};
/// kCpuMax: the quota file on v1 (its period file is kPeriodFile).
FileName file_name(CgroupFile file);
inline constexpr std::string_view kPeriodFile = "cpu.cfs_period_us";
/// Time a group may save up; the kernel refuses any quota below it.
inline constexpr FileName kBurstFile{"cpu", "cpu.cfs_burst_us", "cpu.max.burst"};

/// "<root>/<controller>/<path>" on v1, "<root>/<path>" on v2; no trailing slash.
std::string cgroup_dir(const HostRoots& roots,
                       CgroupVersion version,
                       std::string_view controller,
                       const CgroupPath& path);
std::string cgroup_file(const HostRoots& roots,
                        CgroupVersion version,
                        const FileName& name,
                        const CgroupPath& path);

/// A kNotFound of a file in `dir` becomes kNotSupported when the cgroup itself is there, or when
/// its v1 hierarchy is not mounted: nothing vanished, this set-up does not offer the file. Other
/// errors stay.
Error explain_missing(Error error,
                      const HostRoots& roots,
                      CgroupVersion version,
                      std::string_view controller,
                      const CgroupPath& path);

}  // namespace koordlet::kernel
