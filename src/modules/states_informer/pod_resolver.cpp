#include "modules/states_informer/pod_resolver.hpp"

#include <utility>

#include <fmt/format.h>

#include "k8s/manifest.hpp"

namespace koordlet::states {
namespace {

std::string in(const std::string& where) { return where.empty() ? where : where + ": "; }

}  // namespace

Pod resolve_paths(Pod pod,
                  const std::optional<kernel::CgroupLayout>& layout,
                  const std::string& where,
                  std::vector<std::string>& faults) {
  const auto refuse = [&](const Error& e) {
    faults.push_back(fmt::format("{}pod {}: {}", in(where), full_name(pod), e.context));
  };
  pod.cgroup = CgroupPath{};
  for (auto& c : pod.containers) c.cgroup.reset();
  if (!layout) return pod;
  const auto path = layout->pod(pod.kube_qos, k8s::cgroup_uid(pod));
  if (!path) {
    refuse(path.error());
    return pod;
  }
  pod.cgroup = *path;
  for (auto& c : pod.containers) {
    if (c.id.empty()) continue;
    auto container = layout->container(*path, c.runtime, c.id);
    if (container) {
      c.cgroup = std::move(*container);
    } else {
      refuse(container.error());
    }
  }
  return pod;
}

bool PodClaims::claim(const Pod& pod, const std::string& where, std::vector<std::string>& faults) {
  const auto mine = where.empty() ? fmt::format("pod {}", full_name(pod))
                                  : fmt::format("pod {} ({})", full_name(pod), where);
  const std::string cgroup_uid{k8s::cgroup_uid(pod)};
  for (const auto& uid : {pod.uid, cgroup_uid}) {
    const auto owner = owners_.find(uid);
    if (owner == owners_.end()) continue;
    faults.push_back(fmt::format(
        "{}{} and {} have the uid {}: the first is taken", in(where), owner->second, mine, uid));
    return false;
  }
  owners_.emplace(pod.uid, mine);
  owners_.emplace(cgroup_uid, mine);
  return true;
}

}  // namespace koordlet::states
