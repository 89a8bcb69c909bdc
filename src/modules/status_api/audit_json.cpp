#include "modules/status_api/audit_json.hpp"

#include <fmt/format.h>

#include "base/parse.hpp"
#include "modules/status_api/json_text.hpp"
#include "modules/status_api/list_writer.hpp"
#include "modules/status_api/pod_json.hpp"

namespace koordlet::status_api {

namespace {

constexpr std::size_t kDecisions = 20;

json::object event_json(const StatusView& view, const AuditEvent& e) {
  const bool file = e.key.has_value();
  return {{"seq", e.seq},
          {"time", wall_of(view, e.at)},
          {"age_ms", age_ms(view, e.at)},
          {"kind", to_string(e.kind)},
          {"pod", text_or_null(e.pod)},
          {"cgroup", file ? json::value(cgroup_text(e.key->path)) : json::value(nullptr)},
          {"file", file ? json::value(to_string(e.key->file)) : json::value(nullptr)},
          {"item", file ? text_or_null(e.key->item) : json::value(nullptr)},
          {"before", text_or_null(e.before)},
          {"after", text_or_null(e.after)},
          {"plugin", text_or_null(e.plugin)},
          {"reason", text_or_null(e.reason)},
          {"detail", text_or_null(e.detail)}};
}

bool concerns(const AuditEvent& e, const Pod& pod) {
  if (!e.pod.empty()) return e.pod == pod.uid;
  if (!e.key) return true;  // a level, the policy
  if (traits_of(e.key->file).home != FileHome::kCgroup || pod.cgroup.is_root()) return false;
  const auto& path = e.key->path;
  return path == pod.cgroup || pod.cgroup.is_ancestor_of(path) || path.is_ancestor_of(pod.cgroup);
}

}  // namespace

json::array decisions_about(const StatusView& view, const Pod& pod) {
  json::array out;
  if (view.audit == nullptr) return out;
  const auto found =
      view.audit->newest(kDecisions, [&](const AuditEvent& e) { return concerns(e, pod); });
  for (const auto* e : found) out.emplace_back(event_json(view, *e));
  return out;
}

net::HttpResponse audit(const StatusView& view, std::string_view query) {
  const auto parameters = parse_query(query, {"limit", "continue", "pod"});
  if (!parameters) return problem(400, parameters.error().context);
  const auto page = parse_page(*parameters, "audit");
  if (!page) return problem(400, page.error().context);
  const Pod* pod = nullptr;
  if (const auto name = parameters->find("pod"); name != parameters->end()) {
    pod = look_up(view, name->second);
    if (pod == nullptr) {
      return problem(404,
                     fmt::format("no pod '{}' on this node: give a uid or namespace/name",
                                 utf8(name->second).substr(0, 80)));
    }
  }
  std::uint64_t before = UINT64_MAX;
  if (page->after) {
    const auto seq = parse_u64(*page->after);
    if (!seq) return problem(400, "continue: not a token of this list");
    before = *seq;
  }
  static const AuditLog none{1};
  const AuditLog& log = view.audit != nullptr ? *view.audit : none;
  ListWriter list("events", *page, log.events().size());
  for (auto e = log.events().rbegin(); e != log.events().rend(); ++e) {
    if (pod != nullptr && !concerns(*e, *pod)) continue;
    if (!list.take(e->seq < before)) continue;
    list.add(event_json(view, *e), std::to_string(e->seq));
  }
  return list.finish("audit", {{"since_start", log.total()}});
}

}  // namespace koordlet::status_api
