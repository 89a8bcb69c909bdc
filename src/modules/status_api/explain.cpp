#include "modules/status_api/explain.hpp"

#include <algorithm>

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "modules/status_api/audit_json.hpp"
#include "modules/status_api/caps_json.hpp"
#include "modules/status_api/cpu_path.hpp"
#include "modules/status_api/eviction_json.hpp"
#include "modules/status_api/interference_json.hpp"
#include "modules/status_api/level_text.hpp"
#include "modules/status_api/pod_json.hpp"
#include "modules/status_api/why_not.hpp"

namespace koordlet::status_api {

namespace {

json::array losers(const std::vector<Proposal>& all) {
  json::array out;
  for (const auto& loser : all) out.emplace_back(proposal(loser));
  return out;
}

json::object path_limit(const PathLimit& limit) {
  json::value milli = nullptr;
  if (limit.known) milli = limit.milli ? json::value(*limit.milli) : json::value("max");
  return {{"cgroup", cgroup_text(limit.key.path)},
          {"file", to_string(limit.key.file)},
          {"limit_milli", milli},
          {"raw", text_or_null(limit.raw)},
          {"path", text_or_null(limit.file)},
          {"owner", text_or_null(limit.owner)}};
}

/// Files at or below the pod, and those of its ancestors (the class), as two lists.
void add_caps(json::object& body, const StatusView& view, const HeldIndex& index, const Pod& pod) {
  json::array own;
  for (const auto* held : index.at_or_below(pod.cgroup)) own.emplace_back(held_file(view, *held));
  json::array of_class;
  for (const auto& held : view.held) {
    if (traits_of(held.key.file).home != FileHome::kCgroup) continue;
    if (held.key.path.is_ancestor_of(pod.cgroup)) of_class.emplace_back(held_file(view, held));
  }
  if (own.empty()) body["why_no_caps"] = text_array(why_no_caps(view, pod));
  body["caps"] = std::move(own);
  body["class_caps"] = std::move(of_class);
}

bool concerns(const Pod& pod, const CgroupKey& key) {
  if (traits_of(key.file).home != FileHome::kCgroup) return false;
  const auto& path = key.path;
  if (pod.cgroup.is_root()) return false;
  return path == pod.cgroup || pod.cgroup.is_ancestor_of(path) || path.is_ancestor_of(pod.cgroup);
}

/// What the policy wants although the kernel has it not: dry run, refused, waiting.
json::array wanted(const StatusView& view, const HeldIndex& index, const Pod& pod) {
  json::array out;
  if (view.desired == nullptr) return out;
  for (const auto& [key, desired] : *view.desired) {
    if (!concerns(pod, key) || index.find(key) != nullptr) continue;
    out.emplace_back(json::object{{"cgroup", cgroup_text(key.path)},
                                  {"file", to_string(key.file)},
                                  {"item", text_or_null(key.item)},
                                  {"value", to_string(desired.value)},
                                  {"plugin", text_value(desired.plugin, {})},
                                  {"reason", text_value(desired.reason, {})},
                                  {"since", wall_of(view, desired.since)},
                                  {"age_ms", age_ms(view, desired.since)},
                                  {"losers", losers(desired.losers)}});
  }
  return out;
}

json::array outcomes(const StatusView& view, const HeldIndex& index, const Pod& pod) {
  json::array out;
  for (const auto& o : view.outcomes) {
    if (concerns(pod, o.key)) out.emplace_back(outcome(o));
  }
  for (const auto* held : index.at_or_below(pod.cgroup)) {
    const auto same = [&](const Outcome& o) { return o.key == held->key; };
    if (held->last && std::none_of(view.outcomes.begin(), view.outcomes.end(), same)) {
      out.emplace_back(outcome(*held->last));
    }
  }
  return out;
}

json::object level(const StatusView& view) {
  const auto& qos = view.qos;
  const auto use = node_use_permyriad(view);
  return {{"level", text_or_null(qos.level)},
          {"since", wall_of(view, qos.level_since)},
          {"age_ms", age_ms(view, qos.level_since)},
          {"node_use_percent", use ? json::value(*use / 100.0) : json::value(nullptr)},
          {"factor_permille", qos.factor_permille},
          {"changes_when", text_array(next_level_changes(view))}};
}

}  // namespace

json::object held_file(const StatusView& view, const StatusView::HeldFile& held) {
  return {{"cgroup", cgroup_text(held.key.path)},
          {"file", to_string(held.key.file)},
          {"item", text_or_null(held.key.item)},
          {"path", text_value(held.file, {})},
          {"raw", text_or_null(held.raw)},
          {"value", text_value(held.value, {})},
          {"limit_milli", cpu_limit(held.key.file, held.value)},
          {"original", text_or_null(held.original)},
          {"plugin", text_value(held.plugin, {})},
          {"reason", text_value(held.reason, {})},
          {"since", wall_of(view, held.since)},
          {"age_ms", age_ms(view, held.since)},
          {"foreign_writes", held.foreign_writes},
          {"contested", held.contested},
          {"last_outcome", held.last ? json::value(outcome(*held.last)) : json::value(nullptr)},
          {"losers", losers(held.losers)}};
}

net::HttpResponse explain(const StatusView& view, std::string_view uid_or_name) {
  const Pod* pod = look_up(view, uid_or_name);
  if (pod == nullptr) {
    return problem(
        404, fmt::format("no pod '{}' on this node: give a uid or namespace/name", uid_or_name));
  }
  const HeldIndex index(view);
  const auto path = cpu_path(view, index, *pod);
  const auto* bound = smallest(path);
  json::object body;
  body["pod"] = pod_summary(view, index, *pod, {});
  body["level"] = level(view);
  body["dry_run"] = view.qos.dry_run;
  add_caps(body, view, index, *pod);
  body["wanted"] = wanted(view, index, *pod);
  json::array limits;
  for (const auto& limit : path) limits.emplace_back(path_limit(limit));
  body["cpu_path"] = std::move(limits);
  body["smallest_cpu_limit"] =
      bound != nullptr ? json::value(path_limit(*bound)) : json::value(nullptr);

  const auto usage = view.pods.find(pod->uid);
  json::value of_limit = nullptr;
  if (usage != view.pods.end() && usage->second.cpu && bound != nullptr && *bound->milli > 0) {
    of_limit = usage->second.cpu->v * 1000 / *bound->milli;
  }
  body["use_of_limit_permille"] = of_limit;
  body["binding"] = binding_json(view, index, *pod, bound);
  body["effects"] = effects_json(view);
  body["cap_ineffective"] = ineffective_json(view, pod);
  body["interference"] = pod_interference(view, pod->uid);
  body["eviction"] = eviction_standing(view, *pod);
  body["outcomes"] = outcomes(view, index, *pod);
  body["decisions"] = decisions_about(view, *pod);
  body["notes"] = text_array(notes(view, index, *pod, path, bound));
  return json_response(200, std::move(body));
}

}  // namespace koordlet::status_api
