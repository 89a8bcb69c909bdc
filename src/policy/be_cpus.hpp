#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "policy/plugin.hpp"

/// Which logical CPUs the BE class may run on, for every rule that bounds it by cpuset or by quota
/// of its root.
namespace koordlet::policy {

/// Fewest CPUs of a BE cpuset, so that no single hog stops the class.
inline constexpr std::int64_t kMinBeCpus = 2;

/// CPUs that BE may get, by who else uses them.
struct BeCpuLists {
  CpuTopology lsr;     ///< held by LSR pods: shared with BE in proportion
  CpuTopology shared;  ///< everybody else's
  CpuSet all;
  int count() const { return static_cast<int>(lsr.size() + shared.size()); }
};
/// Without the CPUs of LSE pods, reserved ones, those of the system class, and those that kubelet's
/// static policy gave to a pod for itself (unless the pod is labelled LS or BE, or has CPUs by
/// Koordinator's scheduler: reference api-and-state, CPU pools).
BeCpuLists be_cpu_lists(const Snapshot& snap);
/// `want` CPUs in proportion of the lists; what one list lacks comes from the other. All of them
/// when there are fewer. The lists must not be empty.
CpuSet pick_be_cpus(const BeCpuLists& lists, std::int64_t want);
/// The held set without CPUs that became somebody's own since it was picked.
CpuSet still_be_cpus(const CpuSet& held, const BeCpuLists& lists);

/// Kubelet writes cpusets itself (static CPU manager policy), by the Node, else by its state file.
bool kubelet_is_static(const Snapshot& snap);

/// A CAP of `plugin`.
Proposal be_cap(CgroupKey key, CgroupValue value, std::string_view plugin, std::string reason);
/// `cpus` for the BE root, its pods and their containers; containers alone where kubelet itself
/// writes cpusets. snap.be_root must be known.
std::vector<Proposal> propose_be_cpuset(const Snapshot& snap,
                                        const CpuSet& cpus,
                                        std::string_view plugin,
                                        const std::string& reason);

/// The original's CPU picker (reference 2.2): `want` CPUs out of `from`, spread over NUMA nodes,
/// whole cores first; in pick order. Empty when from is smaller than want.
std::vector<int> pick_cpus(int want, const CpuTopology& from);

}  // namespace koordlet::policy
