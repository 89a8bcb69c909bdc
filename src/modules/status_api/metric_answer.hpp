#pragma once

#include <optional>
#include <vector>

#include <boost/json/object.hpp>

#include "modules/status_api/metric_query.hpp"
#include "modules/status_api/metric_walk.hpp"
#include "policy/series_math.hpp"

/// The answer about one series of a query.
namespace koordlet::status_api {

struct SeriesAnswer {
  store::SeriesKey series;
  std::optional<store::SeriesSummary> summary;  ///< nullopt: no sample in the window
  std::vector<double> quantiles;                ///< of the functions that are one, in their order
  std::optional<double> rate;
  std::optional<policy::Trend> trend;
  std::vector<std::vector<std::optional<double>>>
      points;  ///< one a plotted function; no grid: none
};

/// `source` and `query` outlive the coroutine.
boost::asio::awaitable<Result<SeriesAnswer>> answer_series(MetricSource& source,
                                                           const MetricQuery& query,
                                                           store::SeriesKey series,
                                                           Deadline deadline);

/// {"labels", "count", "exact", "first_ms", "last_ms", "values", "lacks", "points"}; docs/rest.md.
boost::json::object series_answer_json(const MetricQuery& query, const SeriesAnswer& answer);

boost::json::object labels_json(const store::SeriesKey& series);
boost::json::value unit_json(std::string_view metric);  ///< null: not in the registry
/// null for what JSON cannot say; whole numbers without a fraction.
boost::json::value number_json(std::optional<double> v);

}  // namespace koordlet::status_api
