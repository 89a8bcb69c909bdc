#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/slo_blkio.hpp"
#include "model/slo_system.hpp"

/// Settings of the levers beside CPU quota: caches, disks, machine files, CPU identity. All are off
/// until NodeSLO or TOML switches them on.
namespace koordlet::policy {

/// Cache ways and memory bandwidth (TOML [qos.resctrl]; NodeSLO *.resctrlQOS).
struct ResctrlConfig {
  struct Class {
    bool enable = false;
    int start_percent = 0;  ///< of the cache ways
    int end_percent = 100;
    int mba_percent = 100;
    friend bool operator==(const Class&, const Class&) = default;
  };
  Class lsr{}, ls{};
  Class be{false, 0, 30, 100};
  bool mount = false;  ///< resctrl is mounted when it is not
  bool any() const { return lsr.enable || ls.enable || be.enable; }
  friend bool operator==(const ResctrlConfig&, const ResctrlConfig&) = default;
};

/// Disk limits (TOML [qos.blkio]; NodeSLO {beClass,cgroupRoot}.blkioQOS).
struct BlkIoConfig {
  std::vector<IoBlock> be, root;  ///< empty: not limited
  /// Whether the annotation koordinator.sh/blkioQOS is obeyed, and its bounds: a tenant may slow
  /// itself down, but not to a stop that holds up locks of others, nor weigh more than this.
  bool pod_annotations = false;
  int pod_max_weight = 100;
  std::int64_t pod_min_bps = 1'048'576;
  std::int64_t pod_min_iops = 10;
  bool any() const { return !be.empty() || !root.empty() || pod_annotations; }
  friend bool operator==(const BlkIoConfig&, const BlkIoConfig&) = default;
};

/// TOML [qos.blkio]: one set of limits for all its devices.
struct BlkIoToml {
  bool enable = false;
  std::vector<std::string> devices;  ///< disks or partitions, "vdb"
  std::int64_t be_read_bps = 0, be_write_bps = 0, be_read_iops = 0, be_write_iops = 0;  ///< 0: none
  int be_weight = 100;
  BlkIoConfig bounds;  ///< what holds for pods
};

/// TOML [qos.system].
struct SystemToml {
  SystemStrategy values;
  std::vector<std::string> sched_features;  ///< "NAME" or "NO_NAME"
};

/// CPU priority of the classes (TOML [qos.identity]; NodeSLO *.cpuQOS).
struct IdentityConfig {
  bool enable = true;
  int be_shares = 20;       ///< v1 cpu.shares of the BE root
  int be_weight = 2;        ///< v2 cpu.weight of the BE root
  bool be_idle = false;     ///< cpu.idle of BE pods, never of the BE root
  bool core_sched = false;  ///< BE shares a core only with BE (cookies); excludes group identity
  /// cpu.bvt_warp_ns where the kernel has it: 2 goes before 0 before -1.
  int bvt_lsr = 2, bvt_ls = 2, bvt_be = -1;
  friend bool operator==(const IdentityConfig&, const IdentityConfig&) = default;
};

}  // namespace koordlet::policy
