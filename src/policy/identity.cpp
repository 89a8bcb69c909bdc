#include "policy/identity.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "policy/hands_off.hpp"

namespace koordlet::policy {
namespace {

class Writer {
 public:
  explicit Writer(Decision<Identity::State>& out) : out_{out} {}

  void propose(const CgroupPath& path, CgroupFile file, std::int64_t value, std::string reason) {
    Proposal p;
    p.key = {path, file};
    p.value = Number{value};
    p.role = Role::kCap;
    p.plugin = Identity::kName;
    p.reason = std::move(reason);
    out_.proposals.push_back(std::move(p));
  }

  /// Of a pod and each of its containers: a new cgroup starts with 0, whatever its parent has.
  void pod_bvt(const Pod& pod, int value, const std::string& reason) {
    propose(pod.cgroup, CgroupFile::kCpuBvt, value, reason);
    for (const auto& c : pod.containers) {
      if (c.cgroup && !c.cgroup->is_root()) {
        propose(*c.cgroup, CgroupFile::kCpuBvt, value, reason);
      }
    }
  }

 private:
  Decision<Identity::State>& out_;
};

/// The directory of Burstable pods beside the BE root's: "kubepods/burstable".
CgroupPath burstable_root(const CgroupPath& be_root) {
  std::string name{be_root.name()};
  constexpr std::string_view kBe = "besteffort";
  const auto at = name.find(kBe);
  if (at == std::string::npos) return {};
  return be_root.parent().child(name.replace(at, kBe.size(), "burstable"));
}

int bvt_of(const Pod& pod, const IdentityConfig& config) {
  switch (qos_with_default(pod)) {
    case QosClass::kLse:
    case QosClass::kLsr:
      return config.bvt_lsr;
    case QosClass::kLs:
      return config.bvt_ls;
    case QosClass::kBe:
      return config.bvt_be;
    case QosClass::kNone:
    case QosClass::kSystem:
      break;
  }
  return 0;
}

/// pitfall 143: core scheduling beside group identity stops a kernel dead, so all levels are
/// cleared, which the executor does from the top down.
void group_identity(const Snapshot& snap, const IdentityConfig& config, Writer& writer) {
  const bool clear = config.core_sched;
  const auto value = [clear](int v) { return clear ? 0 : v; };
  const auto reason = [clear](int v) {
    return clear ? std::string{"group identity off: core scheduling is on"}
                 : fmt::format("group identity {}", v);
  };
  writer.propose(
      snap.be_root->path, CgroupFile::kCpuBvt, value(config.bvt_be), reason(config.bvt_be));
  if (const auto path = burstable_root(snap.be_root->path); !path.is_root()) {
    writer.propose(path, CgroupFile::kCpuBvt, value(config.bvt_ls), reason(config.bvt_ls));
  }
  for (const auto& pod : snap.state->pods) {
    if (!is_active(*pod) || pod->cgroup.is_root()) continue;
    const int bvt = bvt_of(*pod, config);
    writer.pod_bvt(*pod, value(bvt), reason(bvt));
  }
}

bool is_be(const Pod& pod) { return is_active(pod) && is_best_effort(pod); }

}  // namespace

Decision<Identity::State> Identity::decide(const Snapshot& snap,
                                           const EffectiveConfig& config,
                                           State state) {
  const IdentityConfig& cfg = config.identity;
  if (config.off || !cfg.enable || !snap.be_root) return {{}, state};
  Decision<State> out{{}, state};
  Writer writer{out};
  if (snap.has_bvt) group_identity(snap, cfg, writer);
  if (!snap.has_bvt || cfg.core_sched) {
    const bool v1 = snap.cgroup_version == CgroupVersion::kV1;
    const int weight = v1 ? cfg.be_shares : cfg.be_weight;
    writer.propose(
        snap.be_root->path,
        CgroupFile::kCpuWeight,
        weight,
        fmt::format("BE wakes behind LS: {} {}", v1 ? "cpu.shares" : "cpu.weight", weight));
  }
  if (!cfg.be_idle) return out;
  // Never the BE root: the kernel then refuses every weight, also the kubelet's.
  for (const auto& pod : snap.state->pods) {
    if (is_be(*pod) && snap.be_root->path.is_ancestor_of(pod->cgroup)) {
      writer.propose(pod->cgroup, CgroupFile::kCpuIdle, 1, "BE runs when nobody else wants to");
    }
  }
  return out;
}

std::vector<CgroupPath> core_sched_wish(const NodeState& state, const EffectiveConfig& config) {
  std::vector<CgroupPath> out;
  if (config.off || !config.identity.enable || !config.identity.core_sched) return out;
  for (const auto& pod : state.pods) {
    if (hands_off(*pod, config.hands_off_namespaces)) continue;
    if (is_be(*pod) && !pod->cgroup.is_root()) out.push_back(pod->cgroup);
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace koordlet::policy
