#include "modules/status_api/eviction_json.hpp"

#include <array>

#include "modules/status_api/json_text.hpp"

namespace koordlet::status_api {
namespace {

json::object rule_json(const StatusView::EvictionRule& r) {
  json::array amounts;
  for (const auto& a : r.amounts) {
    amounts.emplace_back(json::object{{"resource", text_value(a.resource, {})},
                                      {"need", a.need},
                                      {"pending", a.pending},
                                      {"reachable", a.reachable}});
  }
  return {{"plugin", text_value(r.plugin, {})},
          {"phase", text_value(r.phase, {})},
          {"why", text_or_null(r.why)},
          {"use_percent", r.use_permyriad / 100.0},
          {"candidates", r.candidates},
          {"amounts", std::move(amounts)}};
}

}  // namespace

json::object eviction_json(const StatusView& view) {
  json::object counts;
  for (const auto& [outcome, n] : view.eviction_counts) counts[utf8(outcome)] = n;
  json::array recent;
  for (const auto& e : view.evictions) {
    recent.emplace_back(json::object{{"pod", text_value(e.pod, {})},
                                     {"uid", text_value(e.uid, {})},
                                     {"plugin", text_value(e.plugin, {})},
                                     {"reason", text_value(e.reason, {})},
                                     {"outcome", text_value(e.outcome, {})},
                                     {"detail", text_or_null(e.detail)},
                                     {"time", wall_of(view, e.at)},
                                     {"age_ms", age_ms(view, e.at)}});
  }
  json::array rules;
  for (const auto& r : view.eviction_rules) rules.emplace_back(rule_json(r));
  return {{"counts", std::move(counts)},
          {"rules", std::move(rules)},
          {"standing", text_or_null(view.eviction_hold)},
          {"recent", std::move(recent)}};
}

json::array eviction_standing(const StatusView& view, const Pod& pod) {
  json::array out;
  if (!view.eviction_standing) return out;
  for (const auto& s : view.eviction_standing(pod)) {
    out.emplace_back(json::object{{"plugin", text_value(s.plugin, {})},
                                  {"candidate", s.why_not.empty()},
                                  {"why_not", text_or_null(s.why_not)}});
  }
  return out;
}

void add_evictions(SeriesSet& out, const StatusView& view) {
  for (const auto& [of, n] : view.eviction_plugin_counts) {
    out.counter("evictions_total",
                "Evictions that were tried, by rule and outcome.",
                static_cast<double>(n),
                {{"plugin", utf8(of.first)}, {"outcome", utf8(of.second)}});
  }
  for (const auto& r : view.eviction_rules) {
    if (r.phase == "off") continue;
    const prometheus::Labels plugin{{"plugin", utf8(r.plugin)}};
    out.gauge("eviction_candidates",
              "Pods that a rule may evict now; 0 while it lacks nothing.",
              static_cast<double>(r.candidates),
              plugin);
    out.gauge("eviction_active",
              "1 while a rule is over its threshold.",
              r.amounts.empty() ? 0.0 : 1.0,
              plugin);
    for (const auto& a : r.amounts) {
      auto labels = plugin;
      labels.emplace("resource", utf8(a.resource));
      const char* help =
          "What a rule lacks, in bytes or milli-cores: all of it, what is on its way "
          "out, what its candidates hold.";
      const std::array<std::pair<const char*, std::int64_t>, 3> parts{
          {{"need", a.need}, {"pending", a.pending}, {"reachable", a.reachable}}};
      for (const auto& [part, value] : parts) {
        auto named = labels;
        named.emplace("part", part);
        out.gauge("eviction_amount", help, static_cast<double>(value), named);
      }
    }
  }
}

}  // namespace koordlet::status_api
