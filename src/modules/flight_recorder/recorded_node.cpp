#include "modules/flight_recorder/recorded_node.hpp"

namespace koordlet::flight {
namespace {

void apply_usage(const store::TickFrame::UsageChange& change,
                 std::map<std::string, WorkloadUsage>& usage) {
  for (const auto& key : change.gone) usage.erase(key);
  for (const auto& [key, value] : change.now) usage.insert_or_assign(key, value);
}

}  // namespace

RecordedNode::RecordedNode() { restart(); }

void RecordedNode::restart() {
  const auto version = state_.version;
  snapshot_ = Snapshot{};
  state_ = NodeState{};
  state_.version = version;
  pods_.clear();
  containers_.clear();
  wishes_.clear();
  snapshot_.state = std::make_shared<const NodeState>();
}

void RecordedNode::apply_state(const store::TickFrame& f) {
  const bool pods_changed = !f.pods.empty() || !f.pods_gone.empty();
  if (!f.node && !f.slo && !f.confirmed && !pods_changed) return;
  if (f.node) state_.node = *f.node;
  if (f.slo) state_.slo = *f.slo;
  if (f.confirmed) {
    state_.pods_at = f.confirmed->pods;
    state_.node_at = f.confirmed->node;
    state_.slo_at = f.confirmed->slo;
  }
  for (const auto& uid : f.pods_gone) pods_.erase(uid);
  for (const auto& pod : f.pods) {
    if (pod) pods_.insert_or_assign(pod->uid, pod);
  }
  if (pods_changed) {
    state_.pods.clear();
    for (const auto& [uid, pod] : pods_) state_.pods.push_back(pod);
  }
  ++state_.version;
  snapshot_.state = std::make_shared<const NodeState>(state_);
}

void RecordedNode::apply(const store::TickFrame& f) {
  Snapshot& s = snapshot_;
  s.now = f.now;
  s.may_relax = f.may_relax;
  if (f.host) {
    s.cgroup_version = f.host->version;
    s.has_bvt = f.host->has_bvt;
    s.has_cpu_burst = f.host->cpu_burst;
    s.has_memory_min = f.host->memory_min;
    s.has_memory_vendor = f.host->memory_vendor;
    s.has_page_cache_limit = f.host->page_cache_limit;
    s.has_memory_reclaim = f.host->memory_reclaim;
    s.usage_valid = f.host->usage_valid;
    s.topology = f.host->topology;
    s.weight_rules = f.host->weight_rules;
  }
  apply_state(f);
  if (f.signals) s.signals = *f.signals;
  apply_usage(f.usage, s.pods);
  if (f.containers) {
    if (*f.containers) apply_usage(**f.containers, containers_);
    if (!*f.containers) containers_.clear();
    s.containers = *f.containers ? &containers_ : nullptr;
  }
  if (f.ls) s.ls_signals = *f.ls;
  if (f.be_root) s.be_root = *f.be_root;
  if (f.storage) s.storage = *f.storage;
  if (f.resctrl) s.resctrl = *f.resctrl;
  if (f.kubelet_cpus) s.kubelet_cpus = *f.kubelet_cpus;
  if (f.cpu_pools) s.cpu_pools = *f.cpu_pools;
  if (f.protected_cache) s.protected_cache = *f.protected_cache;
  for (const auto& key : f.wishes_gone) wishes_.erase(key);
  for (const auto& wish : f.wishes) wishes_.insert_or_assign(wish.key, wish);
}

}  // namespace koordlet::flight
