#include <algorithm>

#include <fmt/format.h>

#include "base/cpu_conversion.hpp"
#include "sim/node_model.hpp"

/// The pods of the modelled node and their cgroups.
namespace koordlet::sim {
namespace {

constexpr std::int64_t kBeShares = 2;  // kubelet's, for what asks for nothing

KubeQos kube_qos_of(QosClass qos) {
  switch (qos) {
    case QosClass::kLsr:
      return KubeQos::kGuaranteed;
    case QosClass::kBe:
      return KubeQos::kBestEffort;
    default:
      return KubeQos::kBurstable;
  }
}

Container container_of(const PodGroup& group, const std::string& uid) {
  Container out;
  out.name = "main";
  out.runtime = "containerd";
  out.id = uid;
  out.running = true;
  const bool be = group.qos == QosClass::kBe;
  (be ? out.requests.batch_cpu : out.requests.cpu) = group.request;
  (be ? out.limits.batch_cpu : out.limits.cpu) = group.limit;
  if (group.memory.limit.v > 0) {
    (be ? out.limits.batch_memory : out.limits.memory) = group.memory.limit;
  }
  return out;
}

}  // namespace

NodeModel::NodeModel(const Scenario& scenario, CgroupTree& tree)
    : scenario_{scenario}, tree_{tree}, next_number_(scenario.groups.size(), 0) {
  auto node = std::make_shared<Node>();
  node->name = "simulated";
  node->cpu_capacity = MilliCpu{scenario.node.cpus * 1000ll};
  node->memory_capacity = scenario.node.memory;
  node_ = std::move(node);
  swap_free_ = static_cast<double>(scenario.node.swap.v);
  auto storage = std::make_shared<StorageTable>();
  for (const auto& disk : scenario.disks) {
    tree_.add_disk(disk.number);
    storage->devices.push_back({disk.name, disk.number, {disk.number}, "", ""});
  }
  storage_ = std::move(storage);
  if (scenario.node_slo) slo_ = std::make_shared<const NodeSlo>(scenario.node_slo->slo);
  const auto be_root = tree_.make(layout_.tier(KubeQos::kBestEffort));
  tree_.make(layout_.tier(KubeQos::kBurstable));
  tree_.set({be_root, CgroupFile::kCpuWeight}, weight_value(scenario.node.be_root_shares));
  for (std::size_t g = 0; g < scenario.groups.size(); ++g) {
    growth_.push_back(scenario.groups[g].memory.growth_per_second);
    resize(g, scenario.groups[g].count);
  }
}

Number NodeModel::weight_value(std::int64_t shares) const {
  if (tree_.version() == CgroupVersion::kV1) return Number{shares};
  return Number{koordlet::weight_of(shares, WeightRule::kLinear)};
}

void NodeModel::add_pod(std::size_t group, int number) {
  const PodGroup& spec = scenario_.groups[group];
  Pod pod;
  pod.uid = fmt::format("{}-{:05}", spec.name, number);
  pod.ns = "simulated";
  pod.name = pod.uid;
  pod.labels["koordinator.sh/qosClass"] = to_string(spec.qos);
  pod.phase = PodPhase::kRunning;
  pod.kube_qos = kube_qos_of(spec.qos);
  pod.qos = spec.qos;
  pod.owner = PodOwner{"ReplicaSet", spec.name, spec.name};
  pod.cgroup = layout_.pod(pod.kube_qos, pod.uid).value();
  pod.containers.push_back(container_of(spec, pod.uid));
  Container& container = pod.containers.back();
  container.cgroup = layout_.container(pod.cgroup, container.runtime, container.id).value();

  const auto shares = spec.request ? shares_of(*spec.request) : kBeShares;
  for (const auto& path : {pod.cgroup, *container.cgroup}) {
    tree_.make(path);
    tree_.set({path, CgroupFile::kCpuWeight}, weight_value(shares));
    if (spec.limit) {
      tree_.set(
          {path, CgroupFile::kCpuMax},
          CpuMax{
              Limit{std::chrono::microseconds{std::max<std::int64_t>(spec.limit->v * 100, 1000)}},
              std::chrono::microseconds{100'000}});
    }
  }
  SimPod entry;
  entry.group = group;
  entry.memory = static_cast<double>(spec.memory.start.v);
  entry.pod = std::make_shared<const Pod>(std::move(pod));
  const auto place =
      std::upper_bound(pods_.begin(), pods_.end(), entry, [](const SimPod& a, const SimPod& b) {
        return a.pod->uid < b.pod->uid;
      });
  pods_.insert(place, std::move(entry));
}

void NodeModel::remove_pod(std::size_t index) {
  const auto at = pods_.begin() + static_cast<std::ptrdiff_t>(index);
  tree_.remove(at->pod->cgroup);
  swap_free_ += at->swapped;
  usage_.erase(at->pod->uid);
  pods_.erase(at);
  changed_ = true;
}

/// The last ones of the group leave at once; new ones get new numbers.
void NodeModel::resize(std::size_t group, int count) {
  int present = 0;
  for (const auto& p : pods_) present += p.group == group ? 1 : 0;
  for (std::size_t i = pods_.size(); i-- > 0 && present > count;) {
    if (pods_[i].group != group) continue;
    remove_pod(i);
    --present;
  }
  for (; present < count; ++present) add_pod(group, next_number_[group]++);
  weigh_tiers();
  changed_ = true;
}

/// kubelet's rule: the Burstable tier weighs what its pods ask for.
void NodeModel::weigh_tiers() {
  MilliCpu asked;
  for (const auto& p : pods_) {
    const auto& group = scenario_.groups[p.group];
    if (p.pod->kube_qos == KubeQos::kBurstable) asked += group.request.value_or(MilliCpu{});
  }
  tree_.set({layout_.tier(KubeQos::kBurstable), CgroupFile::kCpuWeight},
            weight_value(shares_of(asked)));
}

void NodeModel::apply(const Event& event) {
  if (event.api) api_ = *event.api;
  for (std::size_t g = 0; g < scenario_.groups.size(); ++g) {
    if (scenario_.groups[g].name != event.group) continue;
    if (event.count) resize(g, *event.count);
    if (event.growth_per_second) growth_[g] = *event.growth_per_second;
  }
}

bool NodeModel::evict(std::string_view uid, milliseconds now) {
  for (auto& p : pods_) {
    if (p.pod->uid != uid || p.gone_at) continue;
    p.gone_at = now + scenario_.evict_grace;
    Pod leaving = *p.pod;
    leaving.terminating = true;
    p.pod = std::make_shared<const Pod>(std::move(leaving));
    changed_ = true;
    return true;
  }
  return false;
}

std::shared_ptr<const NodeState> NodeModel::state(MonoTime now) {
  state_ = state_ ? std::make_shared<NodeState>(*state_) : std::make_shared<NodeState>();
  if (changed_) {
    ++state_->version;
    state_->node = node_;
    state_->pods.clear();
    for (const auto& p : pods_) state_->pods.push_back(p.pod);
    changed_ = false;
  }
  if (api_ || state_->pods_at == MonoTime{}) {
    const bool has_slo = slo_ && now - VirtualClock::kStart >= scenario_.node_slo->from;
    if (has_slo && !state_->slo) {
      state_->slo = slo_;
      ++state_->version;
    }
    state_->pods_at = state_->node_at = state_->slo_at = state_->metric_at = now;
  }
  return state_;
}

}  // namespace koordlet::sim
