#include "modules/status_api/prometheus_predict.hpp"

#include <optional>

namespace koordlet::status_api {
namespace {

using OptionalNumber = std::optional<double>;

OptionalNumber peak(const policy::SeriesPrediction& s) {
  return s.forecast ? OptionalNumber{s.forecast->peak} : std::nullopt;
}

void add_score(SeriesSet& out, const policy::SeriesPrediction& s, const char* resource) {
  if (s.score.windows <= 0) return;
  const prometheus::Labels labels{{"resource", resource}};
  out.gauge("predict_node_violations_ratio",
            "Share of the node's forecasts that its peak went above, 0 to 1.",
            s.score.violation_share(),
            labels);
  out.gauge("predict_node_over_ratio",
            "How far the node's forecasts were above its peak, mean of forecast / peak - 1.",
            s.score.mean_over(),
            labels);
}

void add_reclaimable(SeriesSet& out, const policy::Reclaimable& r) {
  const auto put = [&](const char* name, const char* help, const policy::PeakAmount& amount) {
    out.gauge(name,
              help,
              static_cast<double>(amount.cpu.v) / 1000,
              {{"resource", "cpu"}, {"unit", "core"}, {"predictor", "min"}});
    out.gauge(name,
              help,
              static_cast<double>(amount.memory.v),
              {{"resource", "memory"}, {"unit", "byte"}, {"predictor", "min"}});
  };
  put("node_predicted_resource_reclaimable",
      "What prod pods asked for and will not use.",
      r.reclaimable);
  put("node_predicted_resource_peak",
      "Peak that prodReclaimable goes by, with its margin.",
      r.peak);
}

template <class Duration>
double seconds(Duration d) {
  return std::chrono::duration<double>(d).count();
}

}  // namespace

void add_predictions(SeriesSet& out, const StatusView& view) {
  if (!view.predictions) return;
  const auto& p = *view.predictions;
  out.gauge("predict_models", "Subjects whose peaks are forecast.", static_cast<double>(p.models));
  out.gauge("predict_memory_bytes", "Memory of all models.", static_cast<double>(p.bytes));
  out.gauge("predict_round_seconds", "CPU time of the last round.", seconds(p.last_round));
  out.gauge("predict_longest_slice_seconds",
            "Longest hold of the loop by a round, since start.",
            seconds(p.longest_slice));
  out.counter("predict_rounds_total", "Rounds of learning.", static_cast<double>(p.rounds));
  out.counter("predict_checkpoint_rows_total",
              "Checkpoints of models that were written.",
              static_cast<double>(p.rows));
  out.counter("predict_checkpoint_failures_total",
              "Batches of checkpoints that could not be written.",
              static_cast<double>(p.save_failures));
  if (p.node != nullptr) {
    out.gauge("predict_node_peak_cpu_cores",
              "Forecast CPU peak of the node within the window.",
              peak(p.node->cpu));
    out.gauge("predict_node_peak_memory_bytes",
              "Forecast memory peak of the node within the window.",
              peak(p.node->memory));
    add_score(out, p.node->cpu, "cpu");
    add_score(out, p.node->memory, "memory");
  }
  if (p.reclaimable) add_reclaimable(out, *p.reclaimable);
}

}  // namespace koordlet::status_api
