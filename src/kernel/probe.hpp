#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/cgroup.hpp"
#include "base/result.hpp"
#include "kernel/host.hpp"

/// What this host offers, each by trying it. For doctor and for the capabilities of the daemon;
/// slow (files are made and removed), so at start and on demand only.
namespace koordlet::kernel {

/// "6.1.0-18-amd64".
Result<std::string> kernel_release(const HostRoots& roots);

/// Mounted controllers, sorted: v1 the hierarchies that have a cgroup.procs, v2 cgroup.controllers.
Result<std::vector<std::string>> cgroup_controllers(const HostRoots& roots, CgroupVersion version);

/// What a fresh child cgroup offers.
struct CgroupFeatures {
  bool cpu_max = false;      ///< quota files: CONFIG_CFS_BANDWIDTH, v2: cpu in subtree_control
  bool cpu_idle = false;     ///< kernel >= 5.15
  bool cpu_bvt = false;      ///< group identity, vendor kernels
  bool memory_high = false;  ///< v2
};
/// Makes "koordlet-doctor-<pid>" at the top (v1: of the cpu and memory hierarchies), looks at its
/// files and removes it. kDenied, kNotSupported (read-only mount): koordlet can change nothing
/// here.
Result<CgroupFeatures> probe_cgroup_write(const HostRoots& roots, CgroupVersion version);

/// Shortest window of a PSI trigger that this process may set: 500 ms, or 2 s without
/// CAP_SYS_RESOURCE. kNotFound: no PSI; kDenied, kInvalid: no trigger at all; kNotSupported: a file
/// of no kernel, which is left as it is.
Result<std::chrono::milliseconds> probe_psi_trigger(const HostRoots& roots);

/// BTF of the kernel, for BPF programs that fit any kernel (CO-RE).
bool has_btf(const HostRoots& roots);
enum class Resctrl { kUnsupported, kNotMounted, kMounted };
Resctrl probe_resctrl(const HostRoots& roots);
std::string resctrl_mount_point(const HostRoots& roots);

/// Of this process, from <proc>/self/status.
struct Rights {
  std::uint64_t effective_uid = 0;
  std::uint64_t capabilities = 0;  ///< bit n is capability n
  bool has(int capability) const { return ((capabilities >> capability) & 1) != 0; }
};
inline constexpr int kCapSysAdmin = 21;     // linux/capability.h
inline constexpr int kCapSysResource = 24;  // linux/capability.h
Result<Rights> read_rights(const HostRoots& roots);

struct DescriptorLimit {
  std::uint64_t soft = 0;
  std::uint64_t hard = 0;
};
Result<DescriptorLimit> descriptor_limit();
/// Raises the soft limit of this process to the hard one; returns what holds afterwards.
Result<DescriptorLimit> raise_descriptor_limit();

struct InotifyLimits {
  std::uint64_t instances = 0;  ///< max_user_instances
  std::uint64_t watches = 0;    ///< max_user_watches
};
Result<InotifyLimits> inotify_limits(const HostRoots& roots);

/// A file can be made in `folder` (or, while it is missing, in its nearest parent). Returns the
/// free bytes of that file system.
Result<std::uint64_t> probe_folder_writable(const std::string& folder);

}  // namespace koordlet::kernel
