#include "modules/status_api/why_not.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "modules/status_api/json_text.hpp"
#include "policy/hands_off.hpp"

namespace koordlet::status_api {

namespace {

bool is_uncapped(const StatusView& view, const Pod& pod) {
  const auto& uids = view.qos.uncapped;
  return std::find(uids.begin(), uids.end(), pod.uid) != uids.end();
}

std::string milli_text(const std::optional<std::int64_t>& milli) {
  return milli ? fmt::format("{}m", *milli) : "unlimited";
}

const Desired* wish_for(const StatusView& view, const Pod& pod) {
  if (view.desired == nullptr) return nullptr;
  const auto at = view.desired->find({pod.cgroup, CgroupFile::kCpuMax});
  return at == view.desired->end() ? nullptr : &at->second;
}

/// A wish that did not reach the kernel.
std::string why_not_written(const StatusView& view, const Pod& pod, const Desired& wish) {
  const auto value = to_string(wish.value);
  if (view.qos.dry_run) {
    return fmt::format(
        "dry run: {} would write cpu.max '{}', nothing is written", wish.plugin, value);
  }
  for (const auto& o : view.outcomes) {
    if (o.key.path != pod.cgroup || o.key.file != CgroupFile::kCpuMax) continue;
    return fmt::format("cpu.max '{}' of {} did not hold: {}{}{}",
                       value,
                       wish.plugin,
                       to_string(o.kind),
                       o.error.empty() ? "" : ": ",
                       o.error);
  }
  return fmt::format("cpu.max '{}' of {} is not written yet", value, wish.plugin);
}

std::string without_request(const StatusView& view) {
  const auto& cap = view.qos.be_root_cap_milli;
  return fmt::format(
      "the pod states no CPU request: it shares the BE-root cap ({}) with {} pods of its kind",
      cap ? fmt::format("{}m", *cap) : "none now",
      view.qos.uncapped.size());
}

std::string rest(const StatusView& view, const Pod& pod) {
  if (!view.signals) return "no node signals yet: rates need two samples";
  if (pod.cgroup.is_root()) return "the pod's cgroup is not known yet (cgroup driver undetected)";
  if (!view.qos.stale.empty()) {
    return fmt::format("inputs are stale ({}): caps that hold stay, new ones are not made",
                       view.qos.stale);
  }
  if (is_uncapped(view, pod) || !be_cpu_request(pod)) return without_request(view);
  if (!view.qos.effective.pressure.enable) {
    return "pod quotas are disabled (qos.pressure.enable); only the class as a whole is limited";
  }
  return "no plugin proposed a value for this pod in the last tick";
}

}  // namespace

std::vector<std::string> why_no_caps(const StatusView& view, const Pod& pod) {
  std::vector<std::string> out;
  const auto& allowed = view.qos.effective.hands_off_namespaces;
  if (auto mark = policy::hands_off_text(pod, allowed); !mark.empty()) {
    out.push_back(utf8(mark));
    if (policy::hands_off(pod, allowed)) return out;
  }
  if (view.qos.off || view.qos.effective.off) {
    out.emplace_back(view.state && view.state->slo
                         ? "the policy is off: NodeSLO resourceUsedThresholdWithBE enable is false"
                         : "the policy is off: there is no NodeSLO and without_nodeslo = \"off\"");
    return out;
  }
  if (!is_best_effort(pod)) {
    out.push_back(fmt::format("only best-effort pods are capped: this one is {} (Kubernetes {})",
                              to_string(qos_with_default(pod)),
                              to_string(pod.kube_qos)));
    return out;
  }
  if (!is_active(pod)) {
    out.push_back(fmt::format("the pod is not running: phase {}", to_string(pod.phase)));
    return out;
  }
  const auto* wish = wish_for(view, pod);
  out.push_back(wish != nullptr ? why_not_written(view, pod, *wish) : rest(view, pod));
  return out;
}

std::vector<std::string> notes(const StatusView& view,
                               const HeldIndex& held,
                               const Pod& pod,
                               const std::vector<PathLimit>& path,
                               const PathLimit* bound) {
  std::vector<std::string> out;
  const auto unknown =
      std::count_if(path.begin(), path.end(), [](const PathLimit& l) { return !l.known; });
  if (unknown > 0) {
    out.push_back(
        fmt::format("{} of {} limits on the path are not known: the smallest one is of "
                    "those that are",
                    unknown,
                    path.size()));
  }
  const auto* own = held.find({pod.cgroup, CgroupFile::kCpuMax});
  if (bound != nullptr && bound->key.path != pod.cgroup) {
    const auto where = fmt::format("{} of {} ({})",
                                   to_string(bound->key.file),
                                   cgroup_text(bound->key.path),
                                   milli_text(bound->milli));
    if (own != nullptr) {
      out.push_back(
          fmt::format("{} is smaller than the pod's own cap: it binds first, and all pods "
                      "below it share it; owner: {}",
                      where,
                      bound->owner));
    } else {
      out.push_back(fmt::format(
          "{} limits this pod and all others below it; owner: {}", where, bound->owner));
    }
  }
  for (const auto* file : held.at_or_below(pod.cgroup)) {
    if (file->contested) {
      out.push_back(fmt::format("{} is contested: another writer changed it {} times",
                                to_string(file->key),
                                file->foreign_writes));
    }
    if (!file->raw.empty() && file->raw != file->value) {
      out.push_back(fmt::format(
          "{} holds '{}', wanted is '{}'", to_string(file->key), file->raw, file->value));
    }
  }
  if (is_best_effort(pod) && is_active(pod) && view.be_root && !pod.cgroup.is_root() &&
      !view.be_root->path.is_ancestor_of(pod.cgroup)) {
    out.push_back(
        fmt::format("the pod counts as best effort but lives outside {}: limits of the "
                    "BE root do not reach it",
                    cgroup_text(view.be_root->path)));
  }
  return out;
}

}  // namespace koordlet::status_api
