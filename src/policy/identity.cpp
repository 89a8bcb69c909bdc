#include "policy/identity.hpp"

#include <fmt/format.h>

namespace koordlet::policy {

Decision<Identity::State> Identity::decide(const Snapshot& snap,
                                           const EffectiveConfig& config,
                                           State state) {
  if (config.off || !config.identity.enable || !snap.be_root) return {{}, state};
  Proposal p;
  p.key.path = snap.be_root->path;
  p.role = Role::kCap;
  p.plugin = kName;
  if (snap.has_bvt) {
    p.key.file = CgroupFile::kCpuBvt;
    p.value = Number{-1};
    p.reason = "BE runs behind LS: group identity -1";
  } else {
    const bool v1 = snap.cgroup_version == CgroupVersion::kV1;
    const int weight = v1 ? config.identity.be_shares : config.identity.be_weight;
    p.key.file = CgroupFile::kCpuWeight;
    p.value = Number{weight};
    p.reason = fmt::format("BE wakes behind LS: {} {}", v1 ? "cpu.shares" : "cpu.weight", weight);
  }
  Decision<State> out{{}, state};
  out.proposals.push_back(std::move(p));
  return out;
}

}  // namespace koordlet::policy
