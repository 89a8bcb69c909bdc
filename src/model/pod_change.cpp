#include "model/pod_change.hpp"

#include <algorithm>

namespace koordlet {
namespace {

bool same_native(const Resources& a, const Resources& b) {
  return a.cpu == b.cpu && a.memory == b.memory;
}

bool is_resized(const Pod& before, const Pod& after) {
  return std::any_of(after.containers.begin(), after.containers.end(), [&](const Container& now) {
    const auto old =
        std::find_if(before.containers.begin(), before.containers.end(), [&](const Container& c) {
          return c.name == now.name && c.running && now.running;
        });
    return old != before.containers.end() &&
           (!same_native(old->requests, now.requests) || !same_native(old->limits, now.limits));
  });
}

}  // namespace

std::vector<CgroupPath> resized_pods(const NodeState& before, const NodeState& after) {
  std::vector<CgroupPath> out;
  for (const auto& pod : after.pods) {
    if (pod->cgroup.is_root()) continue;  // not known yet
    const Pod* old = find_pod(before, pod->uid);
    // Most pods are the very same object in both.
    if (old == nullptr || old == pod.get() || !is_resized(*old, *pod)) continue;
    out.push_back(pod->cgroup);
  }
  return out;
}

}  // namespace koordlet
