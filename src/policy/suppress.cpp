#include "policy/suppress.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "policy/be_cpus.hpp"
#include "policy/be_view.hpp"

namespace koordlet::policy {
namespace {

void update_cpuset(Suppress::State& st,
                   const Snapshot& snap,
                   const BeCpuLists& lists,
                   MilliCpu budget,
                   MilliCpu capacity) {
  if (lists.count() == 0) return;
  // What was wished last time, not what the root shows: below a static kubelet the root stays full.
  const std::int64_t old = st.cpuset ? st.cpuset->count() : snap.be_root->cpuset.count();
  const std::int64_t whole = budget.v > 0 ? (budget.v - 1) / 1000 + 1 : 0;
  std::int64_t want = std::max(whole, kMinBeCpus);
  if (old > 0 && want > old) {
    const std::int64_t step = (static_cast<std::int64_t>(snap.topology.size()) + 9) / 10;
    want = std::min(want, old + step);
    // A budget that sways around a whole number must not move pods each second.
    const bool noise = budget - MilliCpu{old * 1000} <= percent_of(capacity, 1);
    if (!snap.may_relax || (old >= kMinBeCpus && noise)) want = old;
  }
  st.cpuset = pick_be_cpus(lists, want);
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

std::string budget_text(const Suppress::State& st, const SuppressConfig& cfg) {
  return fmt::format("budget {}m: {} % of the node less LS {}m, system {}m",
                     st.budget ? st.budget->v : 0,
                     cfg.threshold_percent,
                     st.ls_used.v,
                     st.system_used.v);
}

void evaluate(Suppress::State& st,
              const Snapshot& snap,
              const SuppressConfig& cfg,
              const BeCpuLists& lists) {
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
  const BeCpuLists lists = by_quota ? BeCpuLists{} : be_cpu_lists(snap);
  const bool unset = by_quota ? !state.quota_us : !state.cpuset;
  const NodeSignals* signals = fresh_signals(snap, config.node_stale_seconds);
  if (signals != nullptr && (unset || !snap.may_relax || signals->seq != state.last_seq)) {
    evaluate(state, snap, cfg, lists);
  }
  Decision<State> out;
  const std::string budget = budget_text(state, cfg);
  if (by_quota && state.quota_us) {
    out.proposals.push_back(be_cap({snap.be_root->path, CgroupFile::kCpuMax},
                                   cpu_max(*state.quota_us),
                                   kName,
                                   fmt::format("{}: quota {} us", budget, *state.quota_us)));
  } else if (!by_quota && state.cpuset) {
    state.cpuset = still_be_cpus(*state.cpuset, lists);
    out.proposals = propose_be_cpuset(
        snap, *state.cpuset, kName, fmt::format("{}: {} CPUs", budget, state.cpuset->count()));
  }
  out.state = std::move(state);
  return out;
}

}  // namespace koordlet::policy
