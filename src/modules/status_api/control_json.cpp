#include "modules/status_api/control_json.hpp"

#include "modules/status_api/json_text.hpp"

namespace koordlet::status_api {
namespace {

json::value millis(const std::optional<std::chrono::milliseconds>& ms) {
  return ms ? json::value(ms->count()) : json::value(nullptr);
}

void add_times(json::object& out,
               std::string_view name,
               const std::optional<StatusView::Report::Times>& times) {
  const auto put = [&](std::string_view which, std::chrono::milliseconds value) {
    out[std::string{name} + "_" + std::string{which} + "_ms"] =
        times ? json::value(value.count()) : json::value(nullptr);
  };
  const auto t = times.value_or(StatusView::Report::Times{});
  put("p50", t.p50);
  put("p99", t.p99);
  put("max", t.max);
}

}  // namespace

json::array resources_json(const StatusView& view) {
  json::array out;
  for (const auto& r : view.resources) {
    out.emplace_back(json::object{{"name", text_value(r.name, {})},
                                  {"synced", r.synced},
                                  {"cached", r.cached},
                                  {"age_ms", millis(r.age)},
                                  {"fault", text_or_null(r.fault)},
                                  {"resource_version", text_or_null(r.resource_version)},
                                  {"lists", r.lists},
                                  {"watches", r.watches},
                                  {"events", r.events},
                                  {"bookmarks", r.bookmarks},
                                  {"relists", r.relists},
                                  {"failures_in_a_row", r.failures}});
  }
  return out;
}

json::value api_json(const StatusView& view) {
  if (!view.api) return nullptr;
  const auto& a = *view.api;
  return json::object{{"server", text_value(a.server, {})},
                      {"fault", text_or_null(a.fault)},
                      {"last_ok_age_ms", millis(a.last_ok_age)},
                      {"clock_skew_ms", millis(a.clock_skew)},
                      {"calls", a.calls},
                      {"failures", a.failures},
                      {"unauthorized", a.unauthorized},
                      {"forbidden", a.forbidden},
                      {"throttled", a.throttled}};
}

json::value report_json(const StatusView& view) {
  if (!view.report) return nullptr;
  const auto& r = *view.report;
  json::object out{{"interval_s", r.interval.count()},
                   {"reports", r.reports},
                   {"unsent", r.unsent},
                   {"failures", r.failures},
                   {"last_age_ms", millis(r.last_age)},
                   {"next_in_ms", millis(r.next_in)},
                   {"update_time", r.update_time ? json::value(rfc3339(*r.update_time)) : nullptr},
                   {"problem", text_or_null(r.problem)},
                   {"lacks", text_array(r.lacks, 20)},
                   {"topology", text_or_null(r.topology)}};
  add_times(out, "build_to_2xx", r.build_to_2xx);
  add_times(out, "age", r.age_then);
  return out;
}

json::value high_condition_json(const StatusView& view) {
  if (!view.high_condition) return nullptr;
  const auto& c = *view.high_condition;
  const auto flag = [](const std::optional<bool>& v) {
    return v ? json::value(*v) : json::value(nullptr);
  };
  return json::object{{"wanted", flag(c.wanted)},
                      {"told", flag(c.told)},
                      {"problem", text_or_null(c.problem)},
                      {"patches", c.patches}};
}

}  // namespace koordlet::status_api
