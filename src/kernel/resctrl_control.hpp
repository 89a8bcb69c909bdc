#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/cgroup.hpp"
#include "base/result.hpp"
#include "kernel/host.hpp"

/// Control groups of resctrl: what the machine offers, making and removing groups, and which tasks
/// are in them. Schemata are written through CgroupFs.
namespace koordlet::kernel {

struct ResctrlOffer {
  std::vector<int> l3_ids, mb_ids;  ///< domains of the root's schemata, ascending
  bool cdp = false;
  std::uint64_t cbm_mask = 0;
  int min_cbm_bits = 1;
  int bandwidth_gran = 10, min_bandwidth = 10;
  bool megabytes = false;  ///< mounted with mba_MBps
  int closids = 0;         ///< the smallest num_closids of all resources; 0: not said
};
/// kNotSupported: no resctrl here or not mounted; kParse: damaged content.
Result<ResctrlOffer> read_resctrl_offer(const HostRoots& roots);
/// Mounts resctrl at its usual place. kDenied, kNotSupported as the kernel says.
Result<void> mount_resctrl(const HostRoots& roots);

/// Control groups beside the root's, sorted.
Result<std::vector<std::string>> list_resctrl_groups(const HostRoots& roots);
/// The inode of the group, which tells it from one made later. kBusy: no CLOSID is left; the text
/// of info/last_cmd_status is in the context. A group that is there already is not made: false.
struct MadeGroup {
  bool made = false;
  std::uint64_t inode = 0;
};
Result<MadeGroup> make_resctrl_group(const HostRoots& roots, const std::string& name);
/// Its tasks go to the root group. kNotFound: no such group.
Result<void> remove_resctrl_group(const HostRoots& roots, const std::string& name);
/// kNotFound: no such group.
Result<std::uint64_t> resctrl_group_inode(const HostRoots& roots, const std::string& name);

/// Task ids of a group ("": the root's), sorted.
Result<std::vector<int>> read_resctrl_tasks(const HostRoots& roots, const std::string& group);
/// Task ids directly in one cgroup, sorted (v1 tasks, v2 cgroup.threads).
Result<std::vector<int>> read_cgroup_tasks(const HostRoots& roots,
                                           CgroupVersion version,
                                           const CgroupPath& path);

/// What became of a list of tasks.
struct MovedTasks {
  std::size_t moved = 0;
  std::size_t gone = 0;     ///< ended meanwhile: normal
  std::size_t refused = 0;  ///< `error` says why, of the first
  std::string error;
};
/// One write(2) a task, as the kernel wants it. kNotFound: no such group.
Result<MovedTasks> move_tasks(const HostRoots& roots,
                              const std::string& group,
                              const std::vector<int>& tasks);

}  // namespace koordlet::kernel
