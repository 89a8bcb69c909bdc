#include "modules/status_api/predictions_json.hpp"

#include <array>
#include <cmath>

#include <boost/json/monotonic_resource.hpp>
#include <fmt/format.h>

#include "modules/status_api/json_text.hpp"
#include "modules/status_api/list_writer.hpp"

namespace koordlet::status_api {
namespace {

using policy::Prediction;
using policy::SeriesPrediction;
using std::chrono::milliseconds;

/// Ratios of a fading history say nothing beyond three digits.
double rounded(double v) { return std::round(v * 1000) / 1000; }

/// Milli-cores or bytes: `scale` of what the forecaster counts in.
json::value amount(const std::optional<double>& v, double scale) {
  if (!v) return nullptr;
  return static_cast<std::int64_t>(std::llround(*v * scale));
}

json::value score_json(const policy::Score& s, const json::storage_ptr& sp) {
  if (s.windows <= 0) return nullptr;
  json::object out(sp);
  out.emplace("windows", rounded(s.windows));
  out.emplace("violation_ratio", rounded(s.violation_share()));
  out.emplace("shortfall_ratio", rounded(s.mean_shortfall()));
  out.emplace("over_ratio", rounded(s.mean_over()));
  out.emplace("within_ratio", rounded(s.within_share()));
  out.emplace("pinball_loss", rounded(s.mean_pinball()));
  return out;
}

json::object series_json(const SeriesPrediction& s,
                         std::string_view unit,
                         double scale,
                         const json::storage_ptr& sp) {
  constexpr double kSlotsAnHour = 12;
  std::optional<double> peak, level, slope;
  if (s.forecast) peak = s.forecast->peak;
  if (s.line) {
    level = s.line->level;
    slope = s.line->slope_per_slot * kSlotsAnHour;
  }
  json::object out(sp);
  out.emplace(fmt::format("peak_{}", unit), amount(peak, scale));
  out.emplace(fmt::format("usual_{}", unit), amount(s.usual, scale));
  out.emplace(fmt::format("trend_{}", unit), amount(level, scale));
  out.emplace(fmt::format("trend_{}_per_hour", unit), amount(slope, scale));
  if (s.forecast) {
    out.emplace("rule", policy::to_string(s.forecast->best));
    out.emplace("cold", s.forecast->cold);
  } else {
    out.emplace("rule", nullptr);
    out.emplace("cold", nullptr);
  }
  out.emplace("learned_ms", milliseconds{s.learned}.count());
  out.emplace("score", score_json(s.score, sp));
  return out;
}

json::value prediction_json(const StatusView& view,
                            const Prediction* p,
                            const json::storage_ptr& sp) {
  if (p == nullptr) return nullptr;
  json::object out(sp);
  out.emplace("cpu", series_json(p->cpu, "milli", 1000, sp));
  out.emplace("memory", series_json(p->memory, "bytes", 1, sp));
  out.emplace("age_ms", age_ms(view, p->at));
  out.emplace("model_bytes", p->bytes);
  return out;
}

json::value reclaimable_json(const std::optional<policy::Reclaimable>& r) {
  if (!r) return nullptr;
  return json::object{{"cpu_milli", r->reclaimable.cpu.v},
                      {"memory_bytes", r->reclaimable.memory.v},
                      {"peak_cpu_milli", r->peak.cpu.v},
                      {"peak_memory_bytes", r->peak.memory.v},
                      {"unpredicted_pods", r->unpredicted.size()}};
}

json::object summary(const StatusView& view) {
  const auto& p = *view.predictions;
  json::array classes;
  for (const auto& c : p.classes) {
    auto one = prediction_json(view, c.value, {});
    one.get_object()["name"] = c.name;
    classes.push_back(std::move(one));
  }
  return {{"enabled", true},
          {"window_ms", milliseconds{p.window}.count()},
          {"node", prediction_json(view, p.node, {})},
          {"system", prediction_json(view, p.system, {})},
          {"classes", std::move(classes)},
          {"prod_reclaimable", reclaimable_json(p.reclaimable)},
          {"warning", text_or_null(p.warning)},
          {"models", p.models},
          {"models_bytes", p.bytes},
          {"models_restored", p.restored},
          {"models_expired", p.expired},
          {"models_restarted", p.restarted},
          {"rows_refused", p.cold_rows},
          {"rows_written", p.rows},
          {"write_failures", p.save_failures},
          {"write_failing", p.save_failing},
          {"rounds", p.rounds},
          {"round_us", p.last_round.count()},
          {"longest_slice_us", p.longest_slice.count()}};
}

json::object pod_prediction(const StatusView& view,
                            const StatusView::Predictions::Row& row,
                            const json::storage_ptr& sp) {
  auto value = prediction_json(view, row.value, sp);
  auto& out = value.get_object();
  const auto* pod = view.state ? find_pod(*view.state, row.name) : nullptr;
  out.emplace("uid", text_value(row.name, sp));
  if (pod != nullptr) {
    out.emplace("pod", text_value(full_name(*pod), sp));
  } else {
    out.emplace("pod", nullptr);
  }
  return std::move(out);
}

}  // namespace

net::HttpResponse predictions(const StatusView& view, std::string_view query) {
  constexpr std::string_view kFilter = "predictions";
  const auto parameters = parse_query(query, {"limit", "continue"});
  if (!parameters) return problem(400, parameters.error().context);
  const auto page = parse_page(*parameters, kFilter);
  if (!page) return problem(400, page.error().context);
  if (!view.predictions) return problem(404, "predictions are off: predict.enabled");
  const auto& rows = view.predictions->pods;
  ListWriter list("pods", *page, rows.size());
  std::array<unsigned char, 8192> room;
  json::monotonic_resource block(room.data(), room.size());
  for (const auto& row : rows) {
    if (row.value == nullptr || !list.take(!page->after || row.name > *page->after)) continue;
    list.add(json::value(pod_prediction(view, row, &block), &block), row.name);
    block.release();
  }
  return list.finish(kFilter, summary(view));
}

}  // namespace koordlet::status_api
