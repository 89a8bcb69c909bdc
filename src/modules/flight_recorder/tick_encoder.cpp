#include "modules/flight_recorder/tick_encoder.hpp"

#include <utility>

namespace koordlet::flight {
namespace {

using store::TickFrame;

template <class T>
bool same(const std::shared_ptr<const T>& a, const std::shared_ptr<const T>& b) {
  return a == b || (a && b && *a == *b);
}

std::optional<double> cpu_stall(const WorkloadUsage& u) {
  return u.stalls.cpu ? std::optional{u.stalls.cpu->some_percent} : std::nullopt;
}

bool same(const WorkloadUsage& a, const WorkloadUsage& b) {
  return a.at == b.at && a.cpu == b.cpu && a.memory == b.memory && a.throttled == b.throttled &&
         a.memory_with_cache == b.memory_with_cache && a.working_set == b.working_set &&
         cpu_stall(a) == cpu_stall(b);
}

bool same(const NodeSignals& a, const NodeSignals& b) {
  return a.seq == b.seq && a.at == b.at && a.node_used == b.node_used &&
         a.kubepods_used == b.kubepods_used && a.be_used == b.be_used &&
         a.be_outside_used == b.be_outside_used && a.host_app_used == b.host_app_used &&
         a.memory_used == b.memory_used && a.memory_total == b.memory_total;
}

bool same(const BeRoot& a, const BeRoot& b) {
  return a.path == b.path && a.cpu_max == b.cpu_max && a.cpuset == b.cpuset && a.memory == b.memory;
}

template <class T>
bool same(const std::optional<T>& a, const std::optional<T>& b) {
  return a.has_value() == b.has_value() && (!a || same(*a, *b));
}

/// One walk over both, sorted by key.
TickFrame::UsageChange changes(const std::map<std::string, WorkloadUsage>& before,
                               const std::map<std::string, WorkloadUsage>& now) {
  TickFrame::UsageChange out;
  auto old = before.begin();
  for (const auto& [key, usage] : now) {
    for (; old != before.end() && old->first < key; ++old) out.gone.push_back(old->first);
    const bool known = old != before.end() && old->first == key;
    if (!known || !same(old->second, usage)) out.now.emplace_hint(out.now.end(), key, usage);
    if (known) ++old;
  }
  for (; old != before.end(); ++old) out.gone.push_back(old->first);
  return out;
}

TickFrame::Host host_of(const Snapshot& s) {
  return {s.cgroup_version,
          s.has_bvt,
          s.has_cpu_burst,
          s.has_memory_min,
          s.has_memory_vendor,
          s.has_page_cache_limit,
          s.has_memory_reclaim,
          s.usage_valid,
          s.topology,
          s.weight_rules};
}

/// Puts `now` into the frame and keeps it, when it is another one.
template <class T, class Same>
void update(bool full, T& kept, T now, std::optional<T>& out, Same same_value) {
  if (!full && same_value(kept, now)) return;
  kept = now;
  out = std::move(now);
}

}  // namespace

void TickEncoder::restart() { *this = TickEncoder{}; }

void TickEncoder::add_state(const NodeState& state, TickFrame& out) {
  const auto same_pointer = [](const auto& a, const auto& b) { return same(a, b); };
  update(full_, node_, state.node, out.node, same_pointer);
  update(full_, slo_, state.slo, out.slo, same_pointer);
  const TickFrame::Confirmed confirmed{state.pods_at, state.node_at, state.slo_at};
  if (full_ || confirmed_ != confirmed) out.confirmed = confirmed_ = confirmed;
  auto old = pods_.begin();
  for (const auto& pod : state.pods) {
    for (; old != pods_.end() && (*old)->uid < pod->uid; ++old)
      out.pods_gone.push_back((*old)->uid);
    const bool known = old != pods_.end() && (*old)->uid == pod->uid;
    if (!known || !same(*old, pod)) out.pods.push_back(pod);
    if (known) ++old;
  }
  for (; old != pods_.end(); ++old) out.pods_gone.push_back((*old)->uid);
  pods_ = state.pods;
}

TickFrame TickEncoder::frame(Observation o) {
  TickFrame out;
  Snapshot& s = o.snapshot;
  out.now = s.now;
  out.wall = o.wall;
  out.number = o.number;
  out.may_relax = s.may_relax;
  const auto same_value = [](const auto& a, const auto& b) { return same(a, b); };
  const auto equal = [](const auto& a, const auto& b) { return a == b; };
  if (auto host = host_of(s); full_ || host_ != host) out.host = host_ = std::move(host);
  add_state(*s.state, out);
  update(full_, signals_, s.signals, out.signals, same_value);
  out.usage = changes(usage_, s.pods);
  usage_ = std::move(s.pods);
  if (o.containers) {
    static const Containers none;
    const bool known = *o.containers != nullptr;
    auto& change = out.containers.emplace();
    if (known) change = changes(containers_ ? *containers_ : none, **o.containers);
    containers_ = std::move(*o.containers);
  }
  update(full_, ls_, std::move(s.ls_signals), out.ls, equal);
  update(full_, be_root_, s.be_root, out.be_root, same_value);
  update(full_, storage_, s.storage, out.storage, same_value);
  update(full_, resctrl_, s.resctrl, out.resctrl, same_value);
  update(full_, kubelet_cpus_, s.kubelet_cpus, out.kubelet_cpus, same_value);
  update(full_, cpu_pools_, s.cpu_pools, out.cpu_pools, same_value);
  update(full_, protected_cache_, s.protected_cache, out.protected_cache, equal);
  out.level = o.level;
  out.factor_permille = o.factor_permille;
  out.below_exit = o.below_exit;
  out.root_cap = o.root_cap;
  out.why = std::move(o.why);
  out.stale = std::move(o.stale);
  out.wishes = std::move(o.wishes);
  out.wishes_gone = std::move(o.wishes_gone);
  out.evict = std::move(o.evict);
  out.outcomes = std::move(o.outcomes);
  full_ = false;
  return out;
}

}  // namespace koordlet::flight
