#include "policy/suppress.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "policy/be_view.hpp"

namespace koordlet::policy {
namespace {

constexpr std::int64_t kMinCpus = 2;

/// CPUs that BE may get, by who else uses them.
struct CpuLists {
  CpuTopology lsr;     ///< held by LSR pods: shared with BE in proportion
  CpuTopology shared;  ///< everybody else's
  CpuSet all;
  int count() const { return static_cast<int>(lsr.size() + shared.size()); }
};

CpuLists cpu_lists(const Snapshot& snap) {
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
  CpuLists out;
  for (const auto& p : snap.topology) {
    if (lse.contains(p.cpu)) continue;
    (lsr.contains(p.cpu) ? out.lsr : out.shared).push_back(p);
    out.all.add(p.cpu);
  }
  return out;
}

/// `want` CPUs in proportion of the lists; what one list lacks comes from the other.
CpuSet pick_from(const CpuLists& lists, std::int64_t want) {
  const std::int64_t lsr = static_cast<std::int64_t>(lists.lsr.size());
  const std::int64_t shared = static_cast<std::int64_t>(lists.shared.size());
  const std::int64_t n = std::min(want, lsr + shared);
  const std::int64_t from_shared = std::min(n - n * lsr / (lsr + shared), shared);
  CpuSet out;
  for (const int cpu : pick_cpus(static_cast<int>(n - from_shared), lists.lsr)) out.add(cpu);
  for (const int cpu : pick_cpus(static_cast<int>(from_shared), lists.shared)) out.add(cpu);
  return out;
}

void update_cpuset(Suppress::State& st,
                   const Snapshot& snap,
                   const CpuLists& lists,
                   MilliCpu budget,
                   MilliCpu capacity) {
  if (lists.count() == 0) return;
  // What was wished last time, not what the root shows: below a static kubelet the root stays full.
  const std::int64_t old = st.cpuset ? st.cpuset->count() : snap.be_root->cpuset.count();
  const std::int64_t whole = budget.v > 0 ? (budget.v - 1) / 1000 + 1 : 0;
  std::int64_t want = std::max(whole, kMinCpus);
  if (old > 0 && want > old) {
    const std::int64_t step = (static_cast<std::int64_t>(snap.topology.size()) + 9) / 10;
    want = std::min(want, old + step);
    // A budget that sways around a whole number must not move pods each second.
    const bool noise = budget - MilliCpu{old * 1000} <= percent_of(capacity, 1);
    if (!snap.may_relax || (old >= kMinCpus && noise)) want = old;
  }
  st.cpuset = pick_from(lists, want);
}

void update_quota(Suppress::State& st, const Snapshot& snap, MilliCpu budget, MilliCpu capacity) {
  const std::int64_t target = std::max(quota_us_of(budget), kMinRootQuotaUs);
  std::optional<std::int64_t> current = st.quota_us;
  if (!current && snap.be_root->cpu_max.quota.bound()) {
    const auto& kernel = snap.be_root->cpu_max;
    current = static_cast<std::int64_t>(Wide{kernel.quota.bound()->count()} * kQuotaPeriod.count() /
                                        kernel.period.count());
  }
  if (!current) {  // unlimited until now: straight to the target
    st.quota_us = target;
    return;
  }
  const std::int64_t cores = (capacity.v - 1) / 1000 + 1;
  const std::int64_t gap = target - *current;
  const bool noise = std::abs(gap) < cores * 1000 && target != kMinRootQuotaUs;
  if (noise || (gap > 0 && !snap.may_relax)) {
    st.quota_us = current;
  } else {
    st.quota_us = gap > cores * 10'000 ? *current + cores * 10'000 : target;
  }
}

Proposal cap(const CgroupPath& path, CgroupFile file, CgroupValue value, std::string reason) {
  Proposal p;
  p.key = {path, file};
  p.value = std::move(value);
  p.role = Role::kCap;
  p.plugin = Suppress::kName;
  p.reason = std::move(reason);
  return p;
}

std::vector<Proposal> propose_cpuset(const Snapshot& snap,
                                     const CpuSet& cpus,
                                     const std::string& reason) {
  std::vector<Proposal> out;
  // A static kubelet writes root and pod groups itself, and pods could not start in a narrow one.
  const bool containers_only =
      snap.state->node && snap.state->node->cpu_policy == KubeletCpuPolicy::kStatic;
  const auto add = [&](const CgroupPath& path) {
    out.push_back(cap(path, CgroupFile::kCpuset, cpus, reason));
  };
  if (!containers_only) add(snap.be_root->path);
  for (const auto& pod : snap.state->pods) {
    // Every group below the root, whatever the label: a parent never gets narrower than its child.
    if (!is_active(*pod) || !snap.be_root->path.is_ancestor_of(pod->cgroup)) continue;
    if (!containers_only) add(pod->cgroup);
    for (const auto& c : pod->containers) {
      if (c.cgroup && !c.cgroup->is_root()) add(*c.cgroup);
    }
  }
  return out;
}

std::string budget_text(const Suppress::State& st, const SuppressConfig& cfg) {
  return fmt::format("budget {}m: {} % of the node less LS {}m, system {}m",
                     st.budget ? st.budget->v : 0,
                     cfg.threshold_percent,
                     st.ls_used.v,
                     st.system_used.v);
}

/// The held set without CPUs that became somebody's own since it was picked.
CpuSet still_allowed(const CpuSet& held, const CpuLists& lists) {
  CpuSet left = held & lists.all;
  return left.empty() ? held : left;
}

void evaluate(Suppress::State& st,
              const Snapshot& snap,
              const SuppressConfig& cfg,
              const CpuLists& lists) {
  const auto budget = suppress_budget(snap, cfg);
  if (!budget) return;  // unknown is not zero: what holds keeps holding
  // A budget implies both.
  const MilliCpu capacity = *capacity_of(snap);
  const NonBeUse use = *non_be_use(*snap.signals, snap.state->node->cpu_reserved);
  st.budget = budget;
  st.ls_used = use.ls;
  st.system_used = use.system;
  if (cfg.policy == SuppressPolicy::kCfsQuota) {
    update_quota(st, snap, *budget, capacity);
  } else {
    update_cpuset(st, snap, lists, *budget, capacity);
  }
  if (snap.may_relax) st.last_seq = snap.signals->seq;
}

}  // namespace

std::optional<MilliCpu> suppress_budget(const Snapshot& snap, const SuppressConfig& config) {
  const auto capacity = capacity_of(snap);
  if (!capacity || !snap.signals) return std::nullopt;
  const auto use = non_be_use(*snap.signals, snap.state->node->cpu_reserved);
  if (!use) return std::nullopt;
  MilliCpu budget = percent_of(*capacity, config.threshold_percent) - use->ls - use->system;
  if (config.min_percent) budget = std::max(budget, percent_of(*capacity, *config.min_percent));
  return budget;
}

Decision<Suppress::State> Suppress::decide(const Snapshot& snap,
                                           const EffectiveConfig& config,
                                           State state) {
  const SuppressConfig& cfg = config.suppress;
  if (config.off || !cfg.enable || cfg.policy == SuppressPolicy::kPodQuota) return {{}, State{}};
  if (!snap.be_root) return {{}, std::move(state)};  // no BE class on this node now
  const bool by_quota = cfg.policy == SuppressPolicy::kCfsQuota;
  if (by_quota) {
    state.cpuset.reset();
  } else {
    state.quota_us.reset();
  }
  const CpuLists lists = by_quota ? CpuLists{} : cpu_lists(snap);
  const bool unset = by_quota ? !state.quota_us : !state.cpuset;
  const NodeSignals* signals = fresh_signals(snap, config.node_stale_seconds);
  if (signals != nullptr && (unset || !snap.may_relax || signals->seq != state.last_seq)) {
    evaluate(state, snap, cfg, lists);
  }
  Decision<State> out;
  const std::string budget = budget_text(state, cfg);
  if (by_quota && state.quota_us) {
    out.proposals.push_back(cap(snap.be_root->path,
                                CgroupFile::kCpuMax,
                                cpu_max(*state.quota_us),
                                fmt::format("{}: quota {} us", budget, *state.quota_us)));
  } else if (!by_quota && state.cpuset) {
    state.cpuset = still_allowed(*state.cpuset, lists);
    out.proposals = propose_cpuset(
        snap, *state.cpuset, fmt::format("{}: {} CPUs", budget, state.cpuset->count()));
  }
  out.state = std::move(state);
  return out;
}

}  // namespace koordlet::policy
