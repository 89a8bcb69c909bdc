#pragma once

#include <array>
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
/// Of a file in the cgroup tree. kCpuMax: the quota file on v1 (its period file is kPeriodFile);
/// kIoMax: the first of kThrottleFiles on v1.
FileName file_name(CgroupFile file);
inline constexpr std::string_view kPeriodFile = "cpu.cfs_period_us";
/// v1 kIoMax, in the order of IoMax: bytes read, bytes written, operations read, written.
inline constexpr std::array<FileName, 4> kThrottleFiles{{
    {"blkio", "blkio.throttle.read_bps_device", ""},
    {"blkio", "blkio.throttle.write_bps_device", ""},
    {"blkio", "blkio.throttle.read_iops_device", ""},
    {"blkio", "blkio.throttle.write_iops_device", ""},
}};

/// Where resctrl is mounted.
std::string resctrl_root(const HostRoots& roots);
/// Absolute path of the file of a key, whatever its home.
std::string setting_file(const HostRoots& roots, CgroupVersion version, const CgroupKey& key);
/// What the identity of a key is taken from: the cgroup's directory (v1: in the cpu hierarchy), the
/// resctrl group's, or the file itself.
std::string setting_home(const HostRoots& roots, CgroupVersion version, const CgroupKey& key);

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
