#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "model/metric_selector.hpp"
#include "modules/status_api/query.hpp"
#include "policy/series_plot.hpp"
#include "store/metric_store.hpp"

/// What /api/v1/query and /api/v1/samples are asked for. Pure.
namespace koordlet::status_api {

/// One answer about a window.
struct MetricFunction {
  enum class Kind { kLast, kCount, kMean, kMin, kMax, kQuantile, kRate, kTrend };
  Kind kind{};
  double quantile = 0;  ///< 0 to 1, of kQuantile
  std::string name;     ///< as it was asked for: "p95", "quantile(0.9)"
};

/// The functions whose value a plot can hold.
std::optional<policy::PlotValue> plot_value(const MetricFunction& function);

struct MetricQuery {
  static constexpr std::int64_t kDefaultLimit = 100;               ///< series a page
  static constexpr std::int64_t kMaxWindowMs = 31LL * 86'400'000;  ///< nothing is kept that long
  static constexpr std::size_t kMaxFunctions = 16;
  static constexpr std::size_t kMaxPoints = 4000;  ///< of one series: buckets x plotted functions
  static constexpr std::size_t kMaxPagePoints = 50'000;  ///< of one answer; the page ends there

  MetricSelector selector;
  store::StoredTime from{0}, to{0};
  std::vector<MetricFunction> functions;
  std::vector<MetricFunction> plotted;   ///< of `functions`; the mean when none of them can be
  std::optional<policy::PlotGrid> grid;  ///< points are asked for
  Page page;
  std::string filter;  ///< what a page token is bound to
};

/// query=SELECTOR (with a metric), window=5m, func=last,mean,p95,max, step=, end= (Unix time in
/// milliseconds, now), limit= 1 to 1000, continue=. kParse and kRange with one line. Names are not
/// checked.
Result<MetricQuery> parse_metric_query(const Parameters& parameters, store::StoredTime now);
const std::vector<std::string_view>& metric_query_parameters();

/// "mean,p95,quantile(0.9)": each once.
Result<std::vector<MetricFunction>> parse_functions(std::string_view text);

/// A window that ends at `end`, or `now`.
struct MetricWindow {
  store::StoredTime from{0}, to{0};
};
Result<MetricWindow> parse_metric_window(const Parameters& parameters,
                                         std::string_view default_window,
                                         store::StoredTime now);

}  // namespace koordlet::status_api
