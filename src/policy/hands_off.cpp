#include "policy/hands_off.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace koordlet::policy {
namespace {

const std::string* mark_of(const Pod& pod) {
  const auto mark = pod.annotations.find(std::string{kHandsOffAnnotation});
  return mark == pod.annotations.end() ? nullptr : &mark->second;
}

bool is_listed(const Pod& pod, const std::vector<std::string>& namespaces) {
  return std::find(namespaces.begin(), namespaces.end(), pod.ns) != namespaces.end();
}

}  // namespace

bool hands_off(const Pod& pod, const std::vector<std::string>& namespaces) {
  // The list is empty on most nodes: no look at the annotations then.
  if (namespaces.empty() || !is_listed(pod, namespaces)) return false;
  const auto* mark = mark_of(pod);
  return mark != nullptr && *mark == "true";
}

std::string hands_off_text(const Pod& pod, const std::vector<std::string>& namespaces) {
  const auto* mark = mark_of(pod);
  if (mark == nullptr) return {};
  if (*mark != "true") {
    return fmt::format("annotation {} is '{}': expected \"true\", so it does not count",
                       kHandsOffAnnotation,
                       *mark);
  }
  if (!is_listed(pod, namespaces)) {
    return fmt::format(
        "annotation {} does not count in namespace {}: qos.hands_off_namespaces does not list it",
        kHandsOffAnnotation,
        pod.ns);
  }
  return fmt::format("hands off: annotation {} holds in namespace {}: no plugin's value is written",
                     kHandsOffAnnotation,
                     pod.ns);
}

void drop_hands_off(std::vector<Proposal>& proposals,
                    const NodeState& state,
                    const std::vector<std::string>& namespaces) {
  if (namespaces.empty()) return;
  std::vector<CgroupPath> untouched;
  for (const auto& pod : state.pods) {
    // A path that is not known must never be taken for the root cgroup, which is above everything.
    if (hands_off(*pod, namespaces) && !pod->cgroup.is_root()) untouched.push_back(pod->cgroup);
  }
  if (untouched.empty()) return;
  std::erase_if(proposals, [&](const Proposal& p) {
    if (traits_of(p.key.file).home != FileHome::kCgroup) return false;
    return std::any_of(untouched.begin(), untouched.end(), [&](const CgroupPath& pod) {
      return p.key.path == pod || pod.is_ancestor_of(p.key.path);
    });
  });
}

}  // namespace koordlet::policy
