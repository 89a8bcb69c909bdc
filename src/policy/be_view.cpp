#include "policy/be_view.hpp"

#include <algorithm>

#include "policy/hands_off.hpp"

namespace koordlet::policy {

CpuMax cpu_max(std::int64_t quota_us) {
  return {Limit{std::chrono::microseconds{std::min(quota_us, kMaxQuotaUs)}}, kQuotaPeriod};
}

std::int64_t quota_us_of(MilliCpu cpu) {
  return static_cast<std::int64_t>(std::min<Wide>(Wide{cpu.v} * 100, kMaxQuotaUs));
}

MilliCpu percent_of(MilliCpu whole, int percent) {
  return {static_cast<std::int64_t>(Wide{whole.v} * percent / 100)};
}

bool at_least_percent(MilliCpu used, int percent, MilliCpu capacity) {
  return Wide{used.v} * 100 >= Wide{capacity.v} * percent;
}

std::optional<MilliCpu> capacity_of(const Snapshot& snap) {
  if (!snap.state->node || snap.state->node->cpu_capacity.v <= 0) return std::nullopt;
  return snap.state->node->cpu_capacity;
}

const NodeSignals* fresh_signals(const Snapshot& snap, int stale_seconds) {
  if (!snap.signals) return nullptr;
  return snap.now - snap.signals->at > std::chrono::seconds{stale_seconds} ? nullptr
                                                                           : &*snap.signals;
}

std::optional<Bytes> memory_in_use(const Snapshot& snap) {
  if (!snap.signals || !snap.signals->memory_used || !snap.signals->memory_total) {
    return std::nullopt;
  }
  const Wide used = Wide{snap.signals->memory_used->v} + snap.protected_cache.value_or(Bytes{}).v;
  return Bytes{static_cast<std::int64_t>(std::min<Wide>(used, snap.signals->memory_total->v))};
}

std::optional<NonBeUse> non_be_use(const NodeSignals& signals, MilliCpu reserved) {
  if (!signals.kubepods_used || !signals.be_used) return std::nullopt;
  const MilliCpu pods = *signals.kubepods_used;
  NonBeUse out;
  // The counters are read one after the other: a difference may come out just below zero.
  out.ls = std::max(pods - *signals.be_used - signals.be_outside_used, MilliCpu{}) +
           signals.host_app_used;
  out.system = std::max({signals.node_used - pods - signals.host_app_used, reserved, MilliCpu{}});
  return out;
}

bool is_be_stranger(const Pod& pod, const std::vector<std::string>& hands_off_namespaces) {
  const bool other = pod.qos != QosClass::kNone && pod.qos != QosClass::kBe;
  return other || hands_off(pod, hands_off_namespaces);
}

std::optional<MilliCpu> capped_request(const Pod& pod, int default_request_milli) {
  auto request = be_cpu_request(pod);
  if (!request && default_request_milli > 0) request = MilliCpu{default_request_milli};
  return request;
}

BePods be_pods(const Snapshot& snap,
               int default_request_milli,
               const std::vector<std::string>& hands_off_namespaces) {
  BePods out;
  for (const auto& pod : snap.state->pods) {
    // A pod whose path is not known must never be taken for the root cgroup.
    if (!is_active(*pod) || !is_best_effort(*pod) || pod->cgroup.is_root()) continue;
    const bool below_root = snap.be_root ? snap.be_root->path.is_ancestor_of(pod->cgroup)
                                         : pod->kube_qos == KubeQos::kBestEffort;
    if (is_be_stranger(*pod, hands_off_namespaces)) {
      out.stranger_below_root |= below_root;
      continue;
    }
    if (const auto request = capped_request(*pod, default_request_milli)) {
      out.capped.push_back({pod.get(), *request, below_root});
    } else {
      out.uncapped.push_back(pod.get());
      out.uncapped_below_root |= below_root;
    }
  }
  return out;
}

}  // namespace koordlet::policy
