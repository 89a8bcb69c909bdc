#include "modules/status_api/metric_answer.hpp"

#include <cmath>

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "model/metric_kind.hpp"
#include "modules/status_api/json_text.hpp"

namespace koordlet::status_api {
namespace {

namespace asio = boost::asio;
using Kind = MetricFunction::Kind;

bool asks(const MetricQuery& query, Kind kind) {
  for (const auto& f : query.functions) {
    if (f.kind == kind) return true;
  }
  return false;
}

std::vector<double> quantiles_of(const MetricQuery& query) {
  std::vector<double> out;
  for (const auto& f : query.functions) {
    if (f.kind == Kind::kQuantile) out.push_back(f.quantile);
  }
  return out;
}

std::size_t least_samples(Kind kind) {
  if (kind == Kind::kRate) return policy::RateSum::kLeast;
  if (kind == Kind::kTrend) return policy::Trend::kLeast;
  return 1;
}

json::value trend_json(const policy::Trend& trend) {
  return json::object{{"direction", policy::to_string(trend.direction)},
                      {"slope_per_hour", number_json(trend.slope_per_hour)},
                      {"p_value", number_json(trend.p_value)},
                      {"level", policy::Trend::kLevel},
                      {"points", trend.points},
                      {"effective_points", number_json(trend.effective_points)}};
}

json::value value_of(const MetricFunction& f, const SeriesAnswer& a, std::size_t& quantile) {
  if (f.kind == Kind::kCount) return a.summary ? a.summary->count : 0;
  if (!a.summary) return nullptr;
  switch (f.kind) {
    case Kind::kLast:
      return a.summary->last;
    case Kind::kMin:
      return a.summary->min;
    case Kind::kMax:
      return a.summary->max;
    case Kind::kMean:
      return number_json(a.summary->mean);
    case Kind::kQuantile: {
      const auto index = quantile++;
      if (index >= a.quantiles.size()) return nullptr;
      return number_json(a.quantiles[index]);
    }
    case Kind::kRate:
      return number_json(a.rate);
    case Kind::kTrend:
      return a.trend ? trend_json(*a.trend) : json::value(nullptr);
    case Kind::kCount:
      break;
  }
  return nullptr;
}

std::string lack_text(const MetricFunction& f, std::size_t count) {
  const auto least = least_samples(f.kind);
  if (count < least)
    return fmt::format("not enough samples: {}, expected {} or more", count, least);
  if (f.kind == Kind::kRate) return "not enough samples: each one is a reset of the counter";
  return "not a finite number";
}

}  // namespace

asio::awaitable<Result<SeriesAnswer>> answer_series(MetricSource& source,
                                                    const MetricQuery& query,
                                                    store::SeriesKey series,
                                                    Deadline deadline) {
  SeriesAnswer out;
  out.series = series;
  auto summary = co_await source.summarize(series, query.from, query.to, quantiles_of(query));
  if (!summary) co_return summary.error();
  out.summary = std::move(*summary);
  if (out.summary) out.quantiles = out.summary->quantiles;
  const bool rate = asks(query, Kind::kRate);
  const bool trend = asks(query, Kind::kTrend);
  std::optional<policy::PlotBuckets> buckets;
  if (query.grid) buckets.emplace(*query.grid);
  policy::RateSum growth;
  policy::TrendPoints line;
  if (out.summary && (rate || trend || buckets)) {
    auto visit = [&](const HistoryPoint& p) {
      if (buckets) buckets->add(p.group());
      if (rate) growth.add({p.at.count(), static_cast<double>(p.last)});
      if (trend) line.add({p.at.count(), p.mean});
      return true;
    };
    const auto window = narrow(query.from, query.to, *out.summary);
    const auto walked =
        co_await walk_series(source, std::move(series), window, deadline, std::move(visit));
    if (!walked) co_return walked.error();
  }
  if (rate) out.rate = growth.per_second();
  if (trend) out.trend = policy::trend(line.points());
  if (buckets) {
    for (const auto& f : query.plotted) out.points.push_back(buckets->values(*plot_value(f)));
  }
  co_return out;
}

json::object labels_json(const store::SeriesKey& series) {
  json::object out;
  for (const auto& [name, value] : labels_of(series.kind, series.owner))
    out[name] = text_value(value, {});
  return out;
}

json::value unit_json(std::string_view metric) {
  const auto* kind = find_metric_kind(metric);
  return kind == nullptr ? json::value(nullptr) : json::value(to_string(kind->unit));
}

json::value number_json(std::optional<double> v) {
  constexpr double kWhole = 9'007'199'254'740'992.0;  // 2^53
  if (!v || !std::isfinite(*v)) return nullptr;
  if (std::trunc(*v) == *v && std::abs(*v) <= kWhole) return static_cast<std::int64_t>(*v);
  return *v;
}

json::object series_answer_json(const MetricQuery& query, const SeriesAnswer& answer) {
  json::object out;
  const auto& summary = answer.summary;
  const std::size_t count = summary ? summary->count : 0;
  out["labels"] = labels_json(answer.series);
  out["count"] = count;
  out["exact"] = summary ? json::value(summary->exact) : json::value(nullptr);
  out["first_ms"] = summary ? json::value(summary->first_at.count()) : json::value(nullptr);
  out["last_ms"] = summary ? json::value(summary->last_at.count()) : json::value(nullptr);
  json::object values, lacks;
  std::size_t quantile = 0;
  for (const auto& f : query.functions) {
    auto value = value_of(f, answer, quantile);
    if (value.is_null()) lacks[f.name] = lack_text(f, count);
    values[f.name] = std::move(value);
  }
  out["values"] = std::move(values);
  out["lacks"] = std::move(lacks);
  if (!query.grid) return out;
  json::object points;
  for (std::size_t i = 0; i < query.plotted.size() && i < answer.points.size(); ++i) {
    json::array line;
    line.reserve(answer.points[i].size());
    for (const auto& v : answer.points[i]) line.push_back(number_json(v));
    points[query.plotted[i].name] = std::move(line);
  }
  out["points"] = std::move(points);
  return out;
}

}  // namespace koordlet::status_api
