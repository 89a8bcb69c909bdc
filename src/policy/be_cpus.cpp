#include "policy/be_cpus.hpp"

#include <algorithm>
#include <utility>

namespace koordlet::policy {

namespace {

/// CPUs that kubelet gave away and nobody else counts. A pod that is not known here still has them.
CpuSet kubelet_exclusive(const Snapshot& snap) {
  CpuSet out;
  if (!snap.kubelet_cpus || !kubelet_is_static(snap)) return out;
  for (const auto& [uid, cpus] : snap.kubelet_cpus->exclusive) {
    const Pod* pod = find_pod(*snap.state, uid);
    const bool shared = pod != nullptr && (pod->qos == QosClass::kLs || pod->qos == QosClass::kBe ||
                                           !pod->allocated_cpus.empty() || !is_active(*pod));
    if (!shared) out = out | cpus;
  }
  return out;
}

}  // namespace

bool kubelet_is_static(const Snapshot& snap) {
  const auto policy = snap.state->node ? snap.state->node->cpu_policy : KubeletCpuPolicy::kUnknown;
  if (policy != KubeletCpuPolicy::kUnknown) return policy == KubeletCpuPolicy::kStatic;
  return snap.kubelet_cpus && snap.kubelet_cpus->policy == KubeletCpuPolicy::kStatic;
}

BeCpuLists be_cpu_lists(const Snapshot& snap) {
  CpuSet lse, lsr;
  for (const auto& pod : snap.state->pods) {
    if (!is_active(*pod) || pod->allocated_cpus.empty()) continue;
    const QosClass qos = qos_with_default(*pod);
    if (qos == QosClass::kLse) lse = lse | pod->allocated_cpus;
    if (qos == QosClass::kLsr) lsr = lsr | pod->allocated_cpus;
  }
  if (snap.state->node) {
    lse = lse | snap.state->node->reserved_cpus | snap.state->node->system_cpus;
  }
  lse = lse | kubelet_exclusive(snap);
  BeCpuLists out;
  for (const auto& p : snap.topology) {
    if (lse.contains(p.cpu)) continue;
    (lsr.contains(p.cpu) ? out.lsr : out.shared).push_back(p);
    out.all.add(p.cpu);
  }
  return out;
}

CpuSet pick_be_cpus(const BeCpuLists& lists, std::int64_t want) {
  const std::int64_t lsr = static_cast<std::int64_t>(lists.lsr.size());
  const std::int64_t shared = static_cast<std::int64_t>(lists.shared.size());
  const std::int64_t n = std::min(want, lsr + shared);
  const std::int64_t from_shared = std::min(n - n * lsr / (lsr + shared), shared);
  CpuSet out;
  for (const int cpu : pick_cpus(static_cast<int>(n - from_shared), lists.lsr)) out.add(cpu);
  for (const int cpu : pick_cpus(static_cast<int>(from_shared), lists.shared)) out.add(cpu);
  return out;
}

CpuSet still_be_cpus(const CpuSet& held, const BeCpuLists& lists) {
  CpuSet left = held & lists.all;
  return left.empty() ? held : left;
}

Proposal be_cap(CgroupKey key, CgroupValue value, std::string_view plugin, std::string reason) {
  Proposal p;
  p.key = std::move(key);
  p.value = std::move(value);
  p.role = Role::kCap;
  p.plugin = plugin;
  p.reason = std::move(reason);
  return p;
}

std::vector<Proposal> propose_be_cpuset(const Snapshot& snap,
                                        const CpuSet& cpus,
                                        std::string_view plugin,
                                        const std::string& reason) {
  std::vector<Proposal> out;
  // A static kubelet writes root and pod groups itself, and pods could not start in a narrow one.
  const bool containers_only = kubelet_is_static(snap);
  const auto add = [&](const CgroupPath& path) {
    out.push_back(be_cap({path, CgroupFile::kCpuset}, cpus, plugin, reason));
  };
  if (!containers_only) add(snap.be_root->path);
  for (const auto& pod : snap.state->pods) {
    // Every group below the root, whatever the label: a parent never gets narrower than its child.
    if (!is_active(*pod) || !snap.be_root->path.is_ancestor_of(pod->cgroup)) continue;
    // Whole CPUs that kubelet gave to a pod are never taken from it.
    if (snap.kubelet_cpus && snap.kubelet_cpus->exclusive.contains(pod->uid)) continue;
    if (!containers_only) add(pod->cgroup);
    for (const auto& c : pod->containers) {
      if (c.cgroup && !c.cgroup->is_root()) add(*c.cgroup);
    }
  }
  return out;
}

}  // namespace koordlet::policy
