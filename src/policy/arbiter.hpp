#pragma once

#include <vector>

#include "model/proposal.hpp"
#include "model/snapshot.hpp"

namespace koordlet::policy {

/// Strictest wins (reference 12.4): result = min(all CAPs, BOOST if any else BASE). `previous`
/// keeps `since` of values that did not change. `be_root` gets order 0 (written first), everything
/// below it its depth. On v1 a pod quota never exceeds its parent's (the kernel refuses it): the
/// smaller one is taken for the pod.
///
/// `steady`: proposals that seldom change, sorted by key; they outlive the call. A file that only
/// one of them wants, as in the tick before, costs no more than a look: its entry is taken over
/// from `previous`.
DesiredTable arbitrate(const std::vector<Proposal>& proposals,
                       const std::vector<const Proposal*>& steady,
                       DesiredTable previous,
                       CgroupVersion version,
                       const CgroupPath& be_root,
                       MonoTime now);
DesiredTable arbitrate(const std::vector<Proposal>& proposals,
                       DesiredTable previous,
                       CgroupVersion version,
                       const CgroupPath& be_root,
                       MonoTime now);

/// The stricter of two values of one file by the table of reference 12.4 for a BE cgroup.
CgroupValue stricter_value(CgroupFile file, const CgroupValue& a, const CgroupValue& b);

}  // namespace koordlet::policy
