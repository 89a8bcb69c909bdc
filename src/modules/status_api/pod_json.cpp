#include "modules/status_api/pod_json.hpp"

#include <algorithm>
#include <array>

#include <boost/json/array.hpp>
#include <boost/json/monotonic_resource.hpp>
#include <fmt/format.h>

#include "modules/status_api/caps_json.hpp"
#include "modules/status_api/interference_json.hpp"
#include "modules/status_api/list_writer.hpp"

namespace koordlet::status_api {

namespace {

struct Filter {
  std::optional<std::string> ns;
  std::optional<QosClass> qos;

  bool matches(const Pod& pod) const {
    return (!ns || pod.ns == *ns) && (!qos || qos_with_default(pod) == *qos);
  }
  /// Both as one text, to bind the page token to them.
  std::string text() const {
    return fmt::format("pods\n{}\n{}", ns.value_or(""), qos ? to_string(*qos) : "");
  }
};

Result<Filter> parse_filter(const Parameters& parameters) {
  Filter filter;
  if (const auto at = parameters.find("namespace"); at != parameters.end()) filter.ns = at->second;
  if (const auto at = parameters.find("qos"); at != parameters.end()) {
    filter.qos = parse_qos_class(at->second);
    if (filter.qos == QosClass::kNone) {
      return Error{
          Errc::kParse,
          fmt::format("qos: '{}': expected one of LSE, LSR, LS, BE, SYSTEM", utf8(at->second))};
    }
  }
  return filter;
}

json::object resources(const Resources& r) {
  return {{"cpu_milli", quantity(r.cpu)},
          {"memory_bytes", quantity(r.memory)},
          {"batch_cpu_milli", quantity(r.batch_cpu)},
          {"batch_memory_bytes", quantity(r.batch_memory)},
          {"mid_cpu_milli", quantity(r.mid_cpu)},
          {"mid_memory_bytes", quantity(r.mid_memory)}};
}

json::object text_map(const std::map<std::string, std::string>& map) {
  json::object out;
  for (const auto& [key, text] : map) out[utf8(key)] = text_value(text, {});
  return out;
}

json::value degree(const StatusView& view, const std::string& uid) {
  if (view.interference.pods == nullptr) return nullptr;
  const auto at = view.interference.pods->find(uid);
  if (at == view.interference.pods->end() || !at->second.degree.degree) return nullptr;
  return *at->second.degree.degree;
}

/// Where its counters come from, and what they say.
json::value container_usage(const StatusView& view, const Container& c) {
  if (view.containers == nullptr || c.id.empty()) return nullptr;
  const auto at = view.containers->find(fmt::format("{}://{}", c.runtime, c.id));
  if (at == view.containers->end()) return nullptr;
  const auto& u = at->second;
  return json::object{{"source", to_string(u.source)},
                      {"age_ms", age_ms(view, u.at)},
                      {"cpu_used_milli", quantity(u.cpu)},
                      {"memory_used_bytes", quantity(u.memory)},
                      {"memory_with_cache_bytes", quantity(u.memory_with_cache)},
                      {"memory_working_set_bytes", quantity(u.working_set)},
                      {"throttled_permille", quantity(u.throttled)},
                      {"io", io_rate(u.io)},
                      {"psi", stalls(u.stalls)}};
}

json::object container(const StatusView& view, const Container& c) {
  return {{"name", text_value(c.name, {})},
          {"runtime", text_or_null(c.runtime)},
          {"id", text_or_null(c.id)},
          {"running", c.running},
          {"init", c.init},
          {"cgroup", c.cgroup ? json::value(cgroup_text(*c.cgroup)) : json::value(nullptr)},
          {"requests", resources(c.requests)},
          {"limits", resources(c.limits)},
          {"usage", container_usage(view, c)}};
}

void add_identity(json::object& out, const Pod& pod, const json::storage_ptr& sp) {
  out.emplace("uid", text_value(pod.uid, sp));
  out.emplace("namespace", text_value(pod.ns, sp));
  out.emplace("name", text_value(pod.name, sp));
  out.emplace("phase", to_string(pod.phase));
  out.emplace("terminating", pod.terminating);
  out.emplace("qos", to_string(qos_with_default(pod)));
  if (pod.qos == QosClass::kNone) {
    out.emplace("qos_label", nullptr);
  } else {
    out.emplace("qos_label", to_string(pod.qos));
  }
  out.emplace("kube_qos", to_string(pod.kube_qos));
  out.emplace("best_effort", is_best_effort(pod));
  if (pod.cgroup.is_root()) {
    out.emplace("cgroup", nullptr);
  } else {
    out.emplace("cgroup", cgroup_text(pod.cgroup));
  }
}

}  // namespace

json::object pod_summary(const StatusView& view,
                         const HeldIndex& held,
                         const Pod& pod,
                         const json::storage_ptr& sp) {
  json::object out(sp);
  out.reserve(24);
  add_identity(out, pod, sp);
  out.emplace("cpu_request_milli", quantity(be_cpu_request(pod)));
  const auto usage = view.pods.find(pod.uid);
  const PodUsage none;
  const PodUsage& sample = usage == view.pods.end() ? none : usage->second;
  out.emplace("cpu_used_milli", quantity(sample.cpu));
  out.emplace("memory_used_bytes", quantity(sample.memory));
  out.emplace("throttled_permille", quantity(sample.throttled));
  out.emplace("memory_with_cache_bytes", quantity(sample.memory_with_cache));
  out.emplace("memory_working_set_bytes", quantity(sample.working_set));
  out.emplace("source", to_string(sample.source));
  out.emplace("progress", progress_json(view, pod));
  out.emplace("interference_degree", degree(view, pod.uid));
  out.emplace("sample_age_ms", age_ms(view, sample.at));
  const auto* cap = held.find({pod.cgroup, CgroupFile::kCpuMax});
  if (cap != nullptr) {
    out.emplace("cpu_cap", text_value(cap->value, sp));
    out.emplace("cpu_cap_milli", cpu_limit(CgroupFile::kCpuMax, cap->value));
    out.emplace("cpu_cap_plugin", text_value(cap->plugin, sp));
  } else {
    out.emplace("cpu_cap", nullptr);
    out.emplace("cpu_cap_milli", nullptr);
    out.emplace("cpu_cap_plugin", nullptr);
  }
  return out;
}

net::HttpResponse pods_list(const StatusView& view, std::string_view query) {
  const auto parameters = parse_query(query, {"limit", "continue", "namespace", "qos"});
  if (!parameters) return problem(400, parameters.error().context);
  const auto filter = parse_filter(*parameters);
  if (!filter) return problem(400, filter.error().context);
  const auto page = parse_page(*parameters, filter->text());
  if (!page) return problem(400, page.error().context);
  const HeldIndex held(view);
  ListWriter list("items", *page, view.state ? view.state->pods.size() : 0);
  std::array<unsigned char, 8192> room;
  json::monotonic_resource block(room.data(), room.size());
  if (view.state) {
    for (const auto& pod : view.state->pods) {
      if (!filter->matches(*pod) || !list.take(!page->after || pod->uid > *page->after)) continue;
      list.add(json::value(pod_summary(view, held, *pod, &block), &block), pod->uid);
      block.release();
    }
  }
  return list.finish(filter->text());
}

net::HttpResponse pod_detail(const StatusView& view, std::string_view uid) {
  const Pod* pod = view.state ? find_pod(*view.state, uid) : nullptr;
  if (pod == nullptr) return problem(404, fmt::format("no pod with uid '{}' on this node", uid));
  auto body = pod_summary(view, HeldIndex(view), *pod, {});
  body["sample_at"] = body.at("sample_age_ms").is_null() ? json::value(nullptr)
                                                         : wall_of(view, view.pods.at(pod->uid).at);
  const auto usage = view.pods.find(pod->uid);
  body["io"] = usage == view.pods.end() ? json::value(nullptr) : io_rate(usage->second.io);
  body["psi"] =
      usage == view.pods.end() ? json::value(nullptr) : json::value(stalls(usage->second.stalls));
  body["interference"] = pod_interference(view, pod->uid);
  body["priority"] = pod->priority ? json::value(*pod->priority) : json::value(nullptr);
  body["priority_class"] = to_string(priority_class_with_default(*pod));
  body["allocated_cpus"] = text_or_null(pod->allocated_cpus.to_string());
  body["labels"] = text_map(pod->labels);
  body["annotations"] = text_map(pod->annotations);
  json::array containers;
  for (const auto& c : pod->containers) containers.emplace_back(container(view, c));
  body["containers"] = std::move(containers);
  return json_response(200, std::move(body));
}

const Pod* look_up(const StatusView& view, std::string_view uid_or_name) {
  if (!view.state) return nullptr;
  const auto slash = uid_or_name.find('/');
  if (slash == std::string_view::npos) return find_pod(*view.state, uid_or_name);
  const auto ns = uid_or_name.substr(0, slash);
  const auto name = uid_or_name.substr(slash + 1);
  const Pod* found = nullptr;
  for (const auto& pod : view.state->pods) {
    if (pod->ns != ns || pod->name != name) continue;
    // A finished pod may share its name with the one that replaced it: the live one is meant.
    if (found == nullptr || (is_active(*pod) && !is_active(*found))) found = pod.get();
  }
  return found;
}

}  // namespace koordlet::status_api
