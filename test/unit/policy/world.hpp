#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "model/proposal.hpp"
#include "model/snapshot.hpp"
#include "policy/config.hpp"
#include "policy/pressure.hpp"

namespace koordlet::policy {

inline std::ostream& operator<<(std::ostream& os, Level l) { return os << to_string(l); }

}  // namespace koordlet::policy

namespace koordlet::test {

inline CgroupPath path(std::string_view text) { return CgroupPath::parse(text).value(); }
inline const CgroupPath kBeRoot = path("kubepods/besteffort");

inline Pod be_pod(const std::string& uid, std::optional<std::int64_t> request_milli) {
  Pod pod;
  pod.uid = uid;
  pod.ns = "default";
  pod.name = uid;
  pod.phase = PodPhase::kRunning;
  pod.kube_qos = KubeQos::kBestEffort;
  pod.cgroup = kBeRoot.child("pod" + uid);
  Container c;
  c.name = "main";
  c.running = true;
  c.id = uid + "-c";
  c.cgroup = pod.cgroup.child(c.id);
  if (request_milli) c.requests.batch_cpu = MilliCpu{*request_milli};
  pod.containers.push_back(c);
  return pod;
}

/// BE by label, but its directory is a Burstable one.
inline Pod outside_pod(const std::string& uid, std::optional<std::int64_t> request_milli) {
  Pod pod = be_pod(uid, request_milli);
  pod.kube_qos = KubeQos::kBurstable;
  pod.qos = QosClass::kBe;
  pod.cgroup = path("kubepods/burstable/pod" + uid);
  pod.containers.front().cgroup = pod.cgroup.child("c");
  return pod;
}

/// A node with pods and signals, from which snapshots are made. Units: milli-cores.
struct World {
  Node node;
  std::vector<Pod> pods;
  std::optional<NodeSlo> slo;
  NodeSignals signals;
  std::optional<BeRoot> be_root = BeRoot{kBeRoot, CpuMax{}, CpuSet{}};
  CpuTopology topology;
  CgroupVersion version = CgroupVersion::kV1;
  MonoTime now{std::chrono::seconds{1000}};

  explicit World(std::int64_t capacity_milli) {
    node.cpu_capacity = MilliCpu{capacity_milli};
    signals.kubepods_used = MilliCpu{0};
    signals.be_used = MilliCpu{0};
  }
  /// A new sample: LS pods, BE below its root and system, all measured `now`.
  void sample(std::int64_t ls, std::int64_t be, std::int64_t system = 0) {
    ++signals.seq;
    signals.at = now;
    signals.be_used = MilliCpu{be};
    signals.kubepods_used = MilliCpu{ls + be} + signals.be_outside_used;
    signals.node_used = *signals.kubepods_used + MilliCpu{system};
  }
  void wait(std::chrono::milliseconds by) { now += by; }

  Snapshot snap(bool may_relax = true) const {
    auto state = std::make_shared<NodeState>();
    state->pods_at = now;
    state->slo_at = now;
    state->node = std::make_shared<const Node>(node);
    for (const auto& p : pods) state->pods.push_back(std::make_shared<const Pod>(p));
    std::sort(state->pods.begin(), state->pods.end(), [](const auto& a, const auto& b) {
      return a->uid < b->uid;
    });
    if (slo) state->slo = std::make_shared<const NodeSlo>(*slo);
    Snapshot out;
    out.now = now;
    out.cgroup_version = version;
    out.state = std::move(state);
    if (signals.seq > 0) out.signals = signals;
    out.be_root = be_root;
    out.topology = topology;
    out.may_relax = may_relax;
    return out;
  }
  /// The same without the node object.
  Snapshot snap_without_node() const {
    Snapshot out = snap();
    auto state = std::make_shared<NodeState>(*out.state);
    state->node = nullptr;
    out.state = std::move(state);
    return out;
  }
};

/// Canonical text of what is proposed for one file; "" = nothing.
inline std::string wish(const std::vector<Proposal>& proposals,
                        const CgroupPath& at,
                        CgroupFile file = CgroupFile::kCpuMax) {
  std::string out;
  for (const auto& p : proposals) {
    if (p.key == CgroupKey{at, file}) out += (out.empty() ? "" : " | ") + to_string(p.value);
  }
  return out;
}

inline std::string wish(const DesiredTable& table,
                        const CgroupPath& at,
                        CgroupFile file = CgroupFile::kCpuMax) {
  const auto it = table.find({at, file});
  return it == table.end() ? "" : to_string(it->second.value);
}

inline CpuMax quota(std::int64_t us) {
  return {Limit{std::chrono::microseconds{us}}, std::chrono::microseconds{100'000}};
}

/// Logical CPUs 0..count-1, one thread a core, one socket.
inline CpuTopology flat_topology(int count) {
  CpuTopology out;
  for (int i = 0; i < count; ++i) out.push_back({i, i, 0, 0});
  return out;
}

}  // namespace koordlet::test
