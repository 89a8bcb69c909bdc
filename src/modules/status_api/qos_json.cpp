#include "modules/status_api/qos_json.hpp"

#include <algorithm>
#include <set>

#include <boost/json/array.hpp>

#include "modules/status_api/caps_json.hpp"
#include "modules/status_api/hardware_json.hpp"
#include "modules/status_api/interference_json.hpp"
#include "modules/status_api/level_text.hpp"
#include "modules/status_api/qos_sections_json.hpp"
#include "modules/status_api/status_json.hpp"

namespace koordlet::status_api {

namespace {

json::value cpus(const CpuSet& set) { return text_or_null(set.to_string()); }

json::value policy_text(KubeletCpuPolicy policy) {
  switch (policy) {
    case KubeletCpuPolicy::kNone:
      return "none";
    case KubeletCpuPolicy::kStatic:
      return "static";
    case KubeletCpuPolicy::kUnknown:
      break;
  }
  return nullptr;
}

template <class Quantity>
json::value nonzero(Quantity q) {
  return q.v > 0 ? json::value(q.v) : json::value(nullptr);
}

json::value node_object(const StatusView& view) {
  if (!view.state || !view.state->node) return nullptr;
  const Node& n = *view.state->node;
  return json::object{{"name", text_value(n.name, {})},
                      {"cpu_capacity_milli", nonzero(n.cpu_capacity)},
                      {"memory_capacity_bytes", nonzero(n.memory_capacity)},
                      {"cpu_allocatable_milli", quantity(n.cpu_allocatable)},
                      {"memory_allocatable_bytes", quantity(n.memory_allocatable)},
                      {"batch_cpu_allocatable_milli", quantity(n.batch_cpu_allocatable)},
                      {"batch_memory_allocatable_bytes", quantity(n.batch_memory_allocatable)},
                      {"cpu_reserved_milli", n.cpu_reserved.v},
                      {"memory_reserved_bytes", n.memory_reserved.v},
                      {"reserved_cpus", cpus(n.reserved_cpus)},
                      {"system_cpus", cpus(n.system_cpus)},
                      {"kubelet_cpu_policy", policy_text(n.cpu_policy)},
                      {"seen", wall_of(view, view.state->node_at)},
                      {"age_ms", age_ms(view, view.state->node_at)}};
}

json::value signals(const StatusView& view) {
  if (!view.signals) return nullptr;
  const NodeSignals& s = *view.signals;
  return json::object{{"seq", s.seq},
                      {"at", wall_of(view, s.at)},
                      {"age_ms", age_ms(view, s.at)},
                      {"node_used_milli", s.node_used.v},
                      {"kubepods_used_milli", quantity(s.kubepods_used)},
                      {"be_used_milli", quantity(s.be_used)},
                      {"be_outside_used_milli", s.be_outside_used.v},
                      {"host_app_used_milli", s.host_app_used.v},
                      {"memory_used_bytes", quantity(s.memory_used)},
                      {"memory_total_bytes", quantity(s.memory_total)}};
}

json::value topology(const StatusView& view) {
  if (view.topology.empty()) return nullptr;
  // Core numbers repeat from socket to socket.
  std::set<std::pair<int, int>> cores;
  std::set<int> sockets;
  std::set<int> numa;
  for (const auto& p : view.topology) {
    cores.emplace(p.socket, p.core);
    sockets.insert(p.socket);
    numa.insert(p.numa);
  }
  return json::object{{"cpus", view.topology.size()},
                      {"cores", cores.size()},
                      {"sockets", sockets.size()},
                      {"numa_nodes", numa.size()}};
}

json::value be_root(const StatusView& view) {
  if (!view.be_root) return nullptr;
  const auto milli = milli_of(view.be_root->cpu_max);
  return json::object{{"cgroup", cgroup_text(view.be_root->path)},
                      {"cpu_max", to_string(CgroupValue{view.be_root->cpu_max})},
                      {"cpu_max_milli", milli ? json::value(*milli) : json::value("max")},
                      {"cpuset", cpus(view.be_root->cpuset)}};
}

json::object pressure_config(const policy::PressureConfig& p) {
  return {{"enable", p.enable},
          {"mid_percent", p.mid_percent},
          {"high_percent", p.high_percent},
          {"exit_margin_percent", p.exit_margin_percent},
          {"factor_none_permille", p.factor_none_permille},
          {"factor_mid_permille", p.factor_mid_permille},
          {"factor_high_permille", p.factor_high_permille},
          {"relax_hold_samples", p.relax_hold_samples},
          {"relax_step_permille", p.relax_step_permille},
          {"relax_guard", p.relax_guard},
          {"hold_doubling", p.hold_doubling},
          {"min_hold_seconds", p.min_hold_seconds},
          {"max_hold_seconds", p.max_hold_seconds},
          {"raise_by_psi", p.raise_by_psi},
          {"raise_by_interference", p.raise_by_interference},
          {"psi_mid_percent", p.psi_mid_percent},
          {"psi_high_percent", p.psi_high_percent},
          {"degree_mid", p.degree_mid},
          {"degree_high", p.degree_high},
          {"raise_min_be_percent", p.raise_min_be_percent},
          {"min_quota_us", p.min_quota_us},
          {"default_request_milli", p.default_request_milli}};
}

json::value suppress_policy(SuppressPolicy policy) {
  switch (policy) {
    case SuppressPolicy::kCpuset:
      return "cpuset";
    case SuppressPolicy::kCfsQuota:
      return "cfsQuota";
    case SuppressPolicy::kPodQuota:
      return "podQuota";
  }
  return nullptr;
}

json::array levers(const StatusView::Qos& qos) {
  json::array out;
  for (const auto& l : qos.levers) {
    out.push_back(json::object{{"name", l.name},
                               {"on", l.on},
                               {"settings", l.settings},
                               {"detail", text_or_null(l.detail)},
                               {"faults", text_array(l.faults)}});
  }
  return out;
}

json::object suppress(const StatusView::Qos& qos) {
  const auto& s = qos.effective.suppress;
  return {{"enable", s.enable},
          {"threshold_percent", s.threshold_percent},
          {"min_percent", s.min_percent ? json::value(*s.min_percent) : json::value(nullptr)},
          {"policy", suppress_policy(s.policy)},
          {"budget_milli", integer(qos.suppress_budget_milli)},
          {"cpuset", qos.suppress_cpuset ? text_value(*qos.suppress_cpuset, {}) : nullptr}};
}

}  // namespace

net::HttpResponse node(const StatusView& view) {
  return json_response(200,
                       json::object{{"node", node_object(view)},
                                    {"signals", signals(view)},
                                    {"usage", node_usage(view)},
                                    {"topology", topology(view)},
                                    {"hardware", hardware_json(view)},
                                    {"be_root", be_root(view)}});
}

json::object qos_state(const StatusView& view) {
  const auto& qos = view.qos;
  const auto use = node_use_permyriad(view);
  const auto& hold = qos.hold_until;
  const auto left = hold && *hold > view.now
                        ? std::chrono::ceil<std::chrono::milliseconds>(*hold - view.now).count()
                        : 0;
  json::object body;
  body["off"] = qos.off || qos.effective.off;
  body["dry_run"] = qos.dry_run;
  body["profile"] = text_or_null(qos.profile);
  body["level"] = text_or_null(qos.level);
  body["level_since"] = wall_of(view, qos.level_since);
  body["level_age_ms"] = age_ms(view, qos.level_since);
  body["node_use_percent"] = use ? json::value(*use / 100.0) : json::value(nullptr);
  body["factor_permille"] = qos.factor_permille;
  body["level_by_use"] = text_or_null(qos.level_by_use);
  body["raised_by"] = text_or_null(qos.raised_by);
  body["not_caused_by_be"] = text_array(qos.not_caused_by_be);
  body["below_exit_samples"] = qos.below_exit;
  body["hold_seconds"] = qos.hold_seconds;
  body["hold_left_ms"] = left;
  body["changes_when"] = text_array(next_level_changes(view));
  body["be_root_cap_milli"] = integer(qos.be_root_cap_milli);
  body["uncapped"] = text_array(qos.uncapped);
  body["stale"] = text_or_null(qos.stale);
  body["ticks"] = qos.ticks;
  body["level_changes"] = qos.level_changes;
  body["pressure"] = pressure_config(qos.effective.pressure);
  body["suppress"] = suppress(qos);
  body["idle_buffer"] = idle_buffer_json(view);
  body["priority"] = {{"enable", qos.effective.identity.enable},
                      {"be_shares", qos.effective.identity.be_shares},
                      {"be_weight", qos.effective.identity.be_weight}};
  body["levers"] = levers(qos);
  body["burst"] = burst_json(view);
  body["memory_qos"] = memory_qos_json(view);
  body["memory_soften"] = memory_soften_json(view);
  body["effects"] = effects_json(view);
  body["cap_ineffective"] = ineffective_json(view, nullptr);
  body["starvation"] = starvation_json(view);
  body["nodeslo_faults"] = text_array(qos.effective.faults);
  return body;
}

}  // namespace koordlet::status_api
