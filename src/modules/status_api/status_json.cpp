#include "modules/status_api/status_json.hpp"

#include <algorithm>

#include <boost/json/array.hpp>

#include "modules/status_api/caps_json.hpp"
#include "modules/status_api/control_json.hpp"
#include "modules/status_api/eviction_json.hpp"
#include "modules/status_api/hooks_json.hpp"
#include "modules/status_api/interference_json.hpp"
#include "modules/status_api/level_text.hpp"
#include "modules/status_api/use_split.hpp"

namespace koordlet::status_api {

namespace {

/// Lines that a broken manifest folder may produce are many; the page stays readable.
constexpr std::size_t kMaxFaults = 100;

json::value micros(const std::optional<std::chrono::microseconds>& us) {
  return us ? json::value(us->count()) : json::value(nullptr);
}

json::object qos_summary(const StatusView& view) {
  const auto& qos = view.qos;
  const auto use = node_use_permyriad(view);
  return {{"off", qos.off || qos.effective.off},
          {"dry_run", qos.dry_run},
          {"profile", text_or_null(qos.profile)},
          {"level", text_or_null(qos.level)},
          {"level_since", wall_of(view, qos.level_since)},
          {"level_age_ms", age_ms(view, qos.level_since)},
          {"node_use_percent", use ? json::value(*use / 100.0) : json::value(nullptr)},
          {"factor_permille", qos.factor_permille},
          {"be_root_cap_milli", integer(qos.be_root_cap_milli)},
          {"cap_ls_used_milli", integer(qos.cap_ls_used_milli)},
          {"cap_system_used_milli", integer(qos.cap_system_used_milli)},
          {"stale", text_or_null(qos.stale)},
          {"ticks", qos.ticks},
          {"level_changes", qos.level_changes}};
}

json::object cpu_split(const StatusView& view) {
  const auto use = use_split(view.signals);
  const bool known = view.state && view.state->node && view.state->node->cpu_capacity.v > 0;
  return {{"capacity", known ? json::value(view.state->node->cpu_capacity.v) : nullptr},
          {"node_used", integer(use.node)},
          {"ls_used", integer(use.ls)},
          {"be_used", integer(use.be)},
          {"system_used", integer(use.system)},
          {"host_apps_used", integer(use.host_apps)}};
}

json::object memory(const StatusView& view) {
  std::optional<Bytes> used;
  std::optional<Bytes> total;
  if (view.signals) {
    used = view.signals->memory_used;
    total = view.signals->memory_total;
  }
  return {{"used", quantity(used)}, {"total", quantity(total)}};
}

json::array inputs(const StatusView& view) {
  json::array out;
  for (const auto& input : view.ages) {
    out.emplace_back(
        json::object{{"name", text_value(input.name, {})},
                     {"age_ms", input.age ? json::value(input.age->count()) : json::value(nullptr)},
                     {"stale", input.stale}});
  }
  return out;
}

json::object pod_counts(const StatusView& view) {
  json::object out{{"total", nullptr}, {"active", nullptr}, {"best_effort", nullptr}};
  // Nothing confirmed the pods yet: their number is unknown, not 0.
  if (!view.state || (view.state->pods.empty() && view.state->pods_at == MonoTime{})) return out;
  std::int64_t active = 0;
  std::int64_t best_effort = 0;
  for (const auto& pod : view.state->pods) {
    if (!is_active(*pod)) continue;
    ++active;
    if (is_best_effort(*pod)) ++best_effort;
  }
  out["total"] = view.state->pods.size();
  out["active"] = active;
  out["best_effort"] = best_effort;
  return out;
}

json::object file_counts(const StatusView& view) {
  const auto contested = std::count_if(
      view.held.begin(), view.held.end(), [](const auto& held) { return held.contested; });
  const auto refused = std::count_if(view.outcomes.begin(), view.outcomes.end(), [](const auto& o) {
    return o.kind == OutcomeKind::kRefused;
  });
  return {{"held", view.held.size()},
          {"contested", contested},
          {"refused", refused},
          {"refused_total", view.executor.refused},
          {"foreign_writes_total", view.executor.foreign}};
}

json::array helpers(const StatusView& view) {
  json::array out;
  for (const auto& helper : view.helpers) {
    out.emplace_back(json::object{{"name", text_value(helper.name, {})},
                                  {"queued", helper.queued},
                                  {"busy_ms", helper.busy.count()}});
  }
  return out;
}

json::value history(const StatusView& view) {
  if (!view.history) return nullptr;
  const auto& h = *view.history;
  return json::object{{"series", h.series},
                      {"rows", h.rows},
                      {"seals", h.seals},
                      {"sealed_series", h.sealed_series},
                      {"sealed_samples", h.sealed_samples},
                      {"rolled_minutes", h.rolled_minutes},
                      {"used_bytes", h.used_bytes},
                      {"map_bytes", h.map_bytes},
                      {"dropped_rows", h.dropped_rows},
                      {"dropped_batches", h.dropped_batches},
                      {"damaged_rows", h.damaged_rows},
                      {"refused_samples", h.refused_samples}};
}

json::value recorder_summary(const StatusView& view) {
  if (!view.recorder) return nullptr;
  const auto& r = *view.recorder;
  return json::object{{"bytes", r.bytes},
                      {"size_bytes", r.size},
                      {"oldest", r.oldest ? json::value(rfc3339(*r.oldest)) : json::value(nullptr)},
                      {"dropped_ticks", r.dropped},
                      {"fault", text_or_null(r.fault)}};
}

std::string_view state_of(const StatusView::Source& source) {
  if (source.fault.empty()) return "ok";
  return source.unsupported ? "unsupported" : "failed";
}

/// By name, whoever reports them.
json::array sources(const StatusView& view) {
  auto sorted = view.sources;
  std::stable_sort(
      sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  json::array out;
  for (const auto& source : sorted) {
    const auto last_ok = source.last_ok.value_or(MonoTime{});
    out.emplace_back(json::object{{"name", text_value(source.name, {})},
                                  {"state", state_of(source)},
                                  {"ok", source.fault.empty()},
                                  {"fault", text_or_null(source.fault)},
                                  {"last_ok_age_ms", age_ms(view, last_ok)}});
  }
  return out;
}

json::object stages(const StatusView& view) {
  json::object out;
  for (const auto& [name, us] : view.stages) out[utf8(name)] = us.count();
  return out;
}

}  // namespace

net::HttpResponse status(const StatusView& view) {
  json::object body;
  body["version"] = text_value(view.version, {});
  body["node"] = text_or_null(view.node_name);
  body["boot_id"] = text_or_null(view.boot_id);
  body["listen"] = text_or_null(view.listen);
  body["time"] = rfc3339(view.wall);
  body["uptime_ms"] = view.uptime.count();
  body["ready"] = view.ready;
  body["not_ready"] = text_array(view.not_ready, kMaxFaults);
  body["cgroup"] = {{"version", to_string(view.cgroup_version)},
                    {"driver", view.driver ? json::value(to_string(*view.driver)) : nullptr}};
  body["qos"] = qos_summary(view);
  body["effect"] = last_effect_json(view);
  body["cap_ineffective"] = ineffective_json(view, nullptr);
  body["starvation"] = starvation_json(view);
  body["cpu_milli"] = cpu_split(view);
  body["memory_bytes"] = memory(view);
  body["interference"] = interference_summary(view);
  body["inputs"] = inputs(view);
  body["sources"] = sources(view);
  body["resources"] = resources_json(view);
  body["api"] = api_json(view);
  body["report"] = report_json(view);
  body["high_condition"] = high_condition_json(view);
  body["eviction"] = eviction_json(view);
  body["pods"] = pod_counts(view);
  body["files"] = file_counts(view);
  body["faults"] = text_array(view.faults, kMaxFaults);
  body["faults_total"] = view.faults.size();
  body["stages_us"] = stages(view);
  body["helpers"] = helpers(view);
  body["history"] = history(view);
  body["recorder"] = recorder_summary(view);
  body["hooks"] = hooks_summary(view);
  body["loop"] = {{"late_us", micros(view.loop_late)},
                  {"late_max_us", micros(view.loop_late_max)},
                  {"missed_ticks", view.missed_ticks}};
  return json_response(200, std::move(body));
}

net::HttpResponse ready(const StatusView& view) {
  net::HttpResponse out;
  out.content_type = "text/plain; charset=utf-8";
  out.body = "ok\n";
  if (view.ready) return out;
  out.status = 503;
  out.body = "not ready\n";
  for (const auto& why : view.not_ready) out.body += utf8(why) + '\n';
  return out;
}

net::HttpResponse config(const StatusView& view) {
  json::array items;
  for (const auto& c : view.config) {
    items.emplace_back(json::object{{"key", text_value(c.key, {})},
                                    {"value", text_value(c.value, {})},
                                    {"source", text_value(c.source, {})}});
  }
  return json_response(200, json::object{{"items", std::move(items)}});
}

net::HttpResponse capabilities(const StatusView& view) {
  json::array items;
  for (const auto& c : view.capabilities) {
    items.emplace_back(json::object{{"name", text_value(c.name, {})},
                                    {"available", c.available},
                                    {"detail", text_or_null(c.detail)},
                                    {"advice", text_or_null(c.advice)}});
  }
  return json_response(200, json::object{{"items", std::move(items)}});
}

net::HttpResponse restored(const std::vector<Outcome>& outcomes) {
  json::array items;
  std::int64_t failed = 0;
  for (const auto& o : outcomes) {
    if (o.kind == OutcomeKind::kRefused || o.kind == OutcomeKind::kPending) ++failed;
    items.emplace_back(outcome(o));
  }
  return json_response(
      200,
      json::object{{"files", outcomes.size()}, {"failed", failed}, {"outcomes", std::move(items)}});
}

}  // namespace koordlet::status_api
