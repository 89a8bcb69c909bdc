#include "sim/node_model.hpp"

#include <algorithm>
#include <cmath>

namespace koordlet::sim {
namespace {

constexpr double kMilli = 1000;
/// WEIGHT_IDLEPRIO of the kernel against 1024 for a weight of one nice-0 task.
constexpr double kIdleShares = 3, kDefaultShares = 1024, kDefaultWeight = 100;

MilliCpu rate(double core_seconds, double seconds) {
  if (seconds <= 0) return {};
  return {std::llround(core_seconds / seconds * kMilli)};
}

/// Of a group that holds nothing but others.
ShareGroup tier(int parent, double bound, double weight) {
  ShareGroup out;
  out.parent = parent;
  out.bound = bound;
  out.weight = weight;
  return out;
}

}  // namespace

double NodeModel::bound_of(const CgroupPath& path) const {
  double out = kNoBound;
  if (const auto* v = tree_.peek({path, CgroupFile::kCpuMax})) {
    const auto& max = std::get<CpuMax>(*v);
    if (const auto& quota = max.quota.bound()) {
      out = static_cast<double>(quota->count()) / static_cast<double>(max.period.count());
    }
  }
  if (const auto* v = tree_.peek({path, CgroupFile::kCpuset})) {
    const int cpus = std::get<CpuSet>(*v).count();
    if (cpus > 0 && cpus < scenario_.node.cpus) out = std::min<double>(out, cpus);
  }
  return out;
}

double NodeModel::weight_of(const CgroupPath& path) const {
  const bool v1 = tree_.version() == CgroupVersion::kV1;
  const auto* idle = tree_.peek({path, CgroupFile::kCpuIdle});
  if (idle != nullptr && std::get<Number>(*idle).v == 1) {
    return v1 ? kIdleShares : kIdleShares / kDefaultShares * kDefaultWeight;
  }
  const auto* weight = tree_.peek({path, CgroupFile::kCpuWeight});
  if (weight == nullptr) return v1 ? kDefaultShares : kDefaultWeight;
  return static_cast<double>(std::max<std::int64_t>(std::get<Number>(*weight).v, 1));
}

/// 0 the root with the system's tasks, 1 kubepods, 2 Burstable, 3 BestEffort, then pod and
/// container of each pod in the order of pods_.
std::vector<ShareGroup> NodeModel::share_groups() const {
  std::vector<ShareGroup> out;
  out.reserve(4 + 2 * pods_.size());
  out.push_back(tier(-1, scenario_.node.cpus, 1));
  out[0].demand = scenario_.node.system_cpu;
  const auto kubepods = layout_.kubepods();
  out.push_back(tier(0, bound_of(kubepods), weight_of(kubepods)));
  for (const auto qos : {KubeQos::kBurstable, KubeQos::kBestEffort}) {
    const auto path = layout_.tier(qos);
    out.push_back(tier(1, bound_of(path), weight_of(path)));
  }
  for (const auto& p : pods_) {
    const int above = p.pod->kube_qos == KubeQos::kGuaranteed  ? 1
                      : p.pod->kube_qos == KubeQos::kBurstable ? 2
                                                               : 3;
    out.push_back(tier(above, bound_of(p.pod->cgroup), weight_of(p.pod->cgroup)));
    const auto& container = *p.pod->containers.front().cgroup;
    out.push_back(tier(static_cast<int>(out.size()) - 1, bound_of(container), 1));
    out.back().demand = p.demand;
  }
  return out;
}

void NodeModel::use_cpu(milliseconds from, milliseconds length) {
  std::vector<double> demand;
  for (const auto& g : scenario_.groups) demand.push_back(demand_at(g.demand, from));
  for (auto& p : pods_) p.demand = demand[p.group];
  auto groups = share_groups();
  share_cpu(groups, scenario_.node.cpus);
  const double s = static_cast<double>(length.count()) / 1000;
  system_given_ = std::min(groups[0].demand, groups[0].given);
  totals_.seconds += s;
  collected_seconds_ += s;
  totals_.system += system_given_ * s;
  totals_.pods += groups[1].given * s;
  totals_.be += groups[3].given * s;
  for (std::size_t i = 0; i < pods_.size(); ++i) {
    SimPod& p = pods_[i];
    p.given = groups[4 + 2 * i].given;
    p.cpu_seconds += p.given * s;
    p.wanted_seconds += p.demand * s;
  }
}

StepUse NodeModel::step(milliseconds from, milliseconds length) {
  for (std::size_t i = pods_.size(); i-- > 0;) {
    if (pods_[i].gone_at && *pods_[i].gone_at <= from) remove_pod(i);
  }
  StepUse out;
  out.be_cap = be_cap();
  use_cpu(from, length);
  use_memory(length);
  use_disks(length);
  out.disk = disk_use();
  std::vector<double> wanted(scenario_.groups.size(), 0), given(scenario_.groups.size(), 0);
  for (const auto& p : pods_) {
    wanted[p.group] += p.demand;
    given[p.group] += p.given;
    if (p.pod->qos == QosClass::kBe) ++out.be_pods;
  }
  for (std::size_t g = 0; g < wanted.size(); ++g) {
    const PodGroup& group = scenario_.groups[g];
    const bool be = group.qos == QosClass::kBe;
    (be ? out.be_demand : out.ls_demand) += wanted[g];
    (be ? out.be_used : out.ls_used) += given[g];
    if (!be && group.count > 0) {
      out.ls_p99_ms = std::max(out.ls_p99_ms, latency_p99_ms(group.latency, wanted[g], given[g]));
    }
  }
  out.system = system_given_;
  out.memory = {std::llround(memory_used())};
  return out;
}

NodeSignals NodeModel::sample(MonoTime now) {
  NodeSignals out;
  out.seq = ++seq_;
  out.at = now;
  out.node_used = rate(totals_.system + totals_.pods, totals_.seconds);
  out.kubepods_used = rate(totals_.pods, totals_.seconds);
  out.be_used = rate(totals_.be, totals_.seconds);
  out.memory_used = Bytes{std::llround(memory_used())};
  out.memory_total = scenario_.node.memory;
  totals_ = Totals{};
  return out;
}

PodUsage NodeModel::usage_of(const SimPod& p, MonoTime now) const {
  PodUsage out;
  out.at = now;
  out.cpu = rate(p.cpu_seconds, collected_seconds_);
  out.memory = out.memory_with_cache = out.working_set = Bytes{std::llround(p.memory)};
  const double missing =
      p.wanted_seconds > 0 ? std::clamp(1 - p.cpu_seconds / p.wanted_seconds, 0.0, 1.0) : 0;
  const double quota = bound_of(p.pod->cgroup);
  const bool held = quota < p.demand && p.given >= quota * 0.999;
  if (quota < kNoBound) out.throttled = Permille{held ? std::llround(missing * kMilli) : 0};
  out.stalls.cpu = StallShare{missing * 100, missing * 100};
  if (scenario_.groups[p.group].io) {
    const auto a_second = [&](double n) { return std::llround(n / collected_seconds_); };
    out.io = IoRate{a_second(p.io.read_bytes),
                    a_second(p.io.write_bytes),
                    a_second(p.io.reads),
                    a_second(p.io.writes)};
  }
  out.source = CounterSource::kFiles;
  return out;
}

void NodeModel::collect_pods(MonoTime now) {
  if (collected_seconds_ <= 0) return;
  for (auto& p : pods_) {
    usage_.insert_or_assign(p.pod->uid, usage_of(p, now));
    p.cpu_seconds = p.wanted_seconds = 0;
    p.io = {};
  }
  collected_seconds_ = 0;
}

std::optional<BeRoot> NodeModel::be_root() const {
  BeRoot out;
  out.path = layout_.tier(KubeQos::kBestEffort);
  const auto* max = tree_.peek({out.path, CgroupFile::kCpuMax});
  if (max == nullptr) return std::nullopt;
  out.cpu_max = std::get<CpuMax>(*max);
  const auto* cpus = tree_.peek({out.path, CgroupFile::kCpuset});
  if (cpus != nullptr) out.cpuset = std::get<CpuSet>(*cpus);
  out.memory = Bytes{std::llround(be_memory())};
  if (out.cpuset.empty()) out.cpuset = CpuSet::range(0, scenario_.node.cpus - 1);
  return out;
}

CpuTopology NodeModel::topology() const {
  CpuTopology out;
  for (int cpu = 0; cpu < scenario_.node.cpus; ++cpu) out.push_back({cpu, cpu / 2, 0, 0});
  return out;
}

std::optional<double> NodeModel::be_cap() const {
  double sum = 0;
  int pods = 0;
  for (const auto& p : pods_) {
    if (p.pod->kube_qos != KubeQos::kBestEffort) continue;
    sum += bound_of(p.pod->cgroup);
    ++pods;
  }
  const double root = bound_of(layout_.tier(KubeQos::kBestEffort));
  const double cap = pods > 0 ? std::min(sum, root) : root;
  if (cap >= kNoBound) return std::nullopt;
  return cap;
}

}  // namespace koordlet::sim
