#include "modules/qos_manager/weight_rules.hpp"

#include <algorithm>
#include <optional>

namespace koordlet {
namespace {

constexpr int kMostReads = 16;

/// nullopt: cannot be read, or both curves (or none) give what is there.
std::optional<WeightRule> seen(kernel::Cgroups& cgroups, const CgroupPath& path, MilliCpu request) {
  if (path.is_root() || request.v <= 0) return std::nullopt;
  const auto weight = cgroups.read({path, CgroupFile::kCpuWeight});
  if (!weight) return std::nullopt;
  return detect_weight_rule(shares_of(request), std::get<Number>(*weight).v);
}

/// As kubelet reckons it for the pod's own cgroup.
MilliCpu request_of(const Pod& pod) {
  MilliCpu sum, init;
  for (const auto& c : pod.containers) {
    const MilliCpu own = c.requests.cpu.value_or(MilliCpu{});
    if (c.init) init = std::max(init, own);
    if (!c.init) sum += own;
  }
  return std::max(sum, init) + pod.overhead.cpu.value_or(MilliCpu{});
}

}  // namespace

WeightRules seen_weight_rules(const NodeState& state, kernel::Cgroups& cgroups, WeightRules last) {
  bool pods_known = false, containers_known = false;
  int left = kMostReads;
  for (const auto& pod : state.pods) {
    if (left <= 0 || (pods_known && containers_known)) break;
    if (!is_active(*pod) || is_best_effort(*pod)) continue;
    if (const auto request = request_of(*pod); !pods_known && request.v > 0) {
      --left;
      const auto rule = seen(cgroups, pod->cgroup, request);
      pods_known = rule.has_value();
      last.pods = rule.value_or(last.pods);
    }
    for (const auto& c : pod->containers) {
      if (containers_known || left <= 0) break;
      if (!c.running || !c.cgroup || !c.requests.cpu || c.requests.cpu->v <= 0) continue;
      --left;
      const auto rule = seen(cgroups, *c.cgroup, *c.requests.cpu);
      containers_known = rule.has_value();
      last.containers = rule.value_or(last.containers);
    }
  }
  return last;
}

}  // namespace koordlet
