#include "modules/status_api/metric_query.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/parse.hpp"
#include "modules/status_api/json_text.hpp"

namespace koordlet::status_api {
namespace {

using Kind = MetricFunction::Kind;

constexpr std::string_view kDefaultFunctions = "last,mean,p95,max";
constexpr std::string_view kExpected =
    "expected last, count, mean, min, max, p50, p95 and so on, quantile(0.9), rate or trend";
// Year 3000: beyond it is no time of a node, and sums cannot overflow.
constexpr std::int64_t kMaxTimeMs = 32'503'680'000'000;

std::string shown(std::string_view text) { return utf8(text.substr(0, 64)); }

Error fault(Errc code, std::string text) { return {code, std::move(text)}; }

std::string_view parameter(const Parameters& parameters,
                           std::string_view name,
                           std::string_view absent) {
  const auto at = parameters.find(std::string{name});
  return at == parameters.end() ? absent : std::string_view{at->second};
}

/// A plain decimal number in [low, high]; no signs, exponents, infinities or NaN.
std::optional<double> number(std::string_view text, double low, double high) {
  if (text.empty() || text.find_first_not_of("0123456789.") != std::string_view::npos)
    return std::nullopt;
  const auto value = parse_real(text);
  if (!value || *value < low || *value > high) return std::nullopt;
  return *value;
}

std::optional<MetricFunction> parse_function(std::string_view text) {
  static constexpr std::pair<std::string_view, Kind> kPlain[]{{"last", Kind::kLast},
                                                              {"count", Kind::kCount},
                                                              {"mean", Kind::kMean},
                                                              {"avg", Kind::kMean},
                                                              {"min", Kind::kMin},
                                                              {"max", Kind::kMax},
                                                              {"rate", Kind::kRate},
                                                              {"trend", Kind::kTrend}};
  for (const auto& [name, kind] : kPlain) {
    if (name == text) return MetricFunction{kind, 0, std::string{text}};
  }
  constexpr std::string_view kQuantile = "quantile(";
  std::optional<double> share;
  if (text.starts_with(kQuantile) && text.ends_with(')')) {
    share = number(text.substr(kQuantile.size(), text.size() - kQuantile.size() - 1), 0, 1);
  } else if (text.starts_with('p')) {
    share = number(text.substr(1), 0, 100);
    if (share) *share /= 100;
  }
  if (!share) return std::nullopt;
  return MetricFunction{Kind::kQuantile, *share, std::string{text}};
}

Result<std::int64_t> span_of(const Parameters& parameters,
                             std::string_view name,
                             std::string_view absent) {
  const auto text = parameter(parameters, name, absent);
  const auto span = parse_span_ms(text);
  if (!span)
    return fault(span.error().code, fmt::format("{}: {}", name, utf8(span.error().context)));
  if (*span <= 0)
    return fault(Errc::kRange, fmt::format("{}: '{}': expected more than 0 s", name, shown(text)));
  if (*span > MetricQuery::kMaxWindowMs)
    return fault(Errc::kRange, fmt::format("{}: '{}': expected at most 31d", name, shown(text)));
  return span;
}

Result<void> take_grid(const Parameters& parameters, MetricQuery& out) {
  for (const auto& f : out.functions) {
    if (plot_value(f)) out.plotted.push_back(f);
  }
  if (out.plotted.empty()) out.plotted.push_back({Kind::kMean, 0, "mean"});
  if (!parameters.contains("step")) return {};
  const auto step = span_of(parameters, "step", "");
  if (!step) return step.error();
  const auto most = MetricQuery::kMaxPoints / out.plotted.size();
  out.grid = policy::plot_grid(out.from.count(), out.to.count(), *step, most);
  if (out.grid) return {};
  return fault(Errc::kRange,
               fmt::format("step: '{}': more than {} points a series for {} functions: expected a "
                           "longer step or a shorter window",
                           shown(parameter(parameters, "step", "")),
                           most,
                           out.plotted.size()));
}

}  // namespace

std::optional<policy::PlotValue> plot_value(const MetricFunction& function) {
  using policy::PlotValue;
  switch (function.kind) {
    case Kind::kLast:
      return PlotValue::kLast;
    case Kind::kCount:
      return PlotValue::kCount;
    case Kind::kMean:
      return PlotValue::kMean;
    case Kind::kMin:
      return PlotValue::kMin;
    case Kind::kMax:
      return PlotValue::kMax;
    case Kind::kRate:
      return PlotValue::kRate;
    case Kind::kQuantile:
    case Kind::kTrend:
      break;
  }
  return std::nullopt;
}

Result<std::vector<MetricFunction>> parse_functions(std::string_view text) {
  std::vector<MetricFunction> out;
  for (bool more = true; more;) {
    const auto comma = text.find(',');
    more = comma != std::string_view::npos;
    const auto part = trim(text.substr(0, comma));
    if (more) text.remove_prefix(comma + 1);
    auto function = parse_function(part);
    if (!function)
      return fault(Errc::kParse, fmt::format("func: '{}': {}", shown(part), kExpected));
    const bool twice = std::any_of(
        out.begin(), out.end(), [&](const auto& f) { return f.name == function->name; });
    if (twice) return fault(Errc::kParse, fmt::format("func: '{}': given twice", shown(part)));
    if (out.size() == MetricQuery::kMaxFunctions)
      return fault(Errc::kRange,
                   fmt::format("func: more than {} functions", MetricQuery::kMaxFunctions));
    out.push_back(std::move(*function));
  }
  return out;
}

Result<MetricWindow> parse_metric_window(const Parameters& parameters,
                                         std::string_view default_window,
                                         store::StoredTime now) {
  const auto window = span_of(parameters, "window", default_window);
  if (!window) return window.error();
  MetricWindow out;
  out.to = now;
  if (const auto at = parameters.find("end"); at != parameters.end()) {
    const auto end = parse_i64(at->second);
    if (!end || *end < 1 || *end > kMaxTimeMs)
      return fault(Errc::kParse,
                   fmt::format("end: '{}': expected Unix time in milliseconds", shown(at->second)));
    out.to = store::StoredTime{*end};
  }
  out.from = std::max(store::StoredTime{0}, out.to - store::StoredTime{*window});
  return out;
}

const std::vector<std::string_view>& metric_query_parameters() {
  static const std::vector<std::string_view> names{
      "query", "window", "func", "step", "end", "limit", "continue"};
  return names;
}

Result<MetricQuery> parse_metric_query(const Parameters& parameters, store::StoredTime now) {
  MetricQuery out;
  const auto text = parameter(parameters, "query", "");
  if (text.empty())
    return fault(Errc::kParse,
                 "query: missing: expected a selector such as pod_cpu_usage{pod_uid=\"...\"}");
  auto selector = parse_selector(text);
  if (!selector) return fault(Errc::kParse, utf8(selector.error().context));
  if (selector->metric.empty())
    return fault(Errc::kParse, "query: expected a metric before '{': units differ between metrics");
  out.selector = std::move(*selector);
  const auto window = parse_metric_window(parameters, "5m", now);
  if (!window) return window.error();
  out.from = window->from;
  out.to = window->to;
  auto functions = parse_functions(parameter(parameters, "func", kDefaultFunctions));
  if (!functions) return functions.error();
  out.functions = std::move(*functions);
  const auto grid = take_grid(parameters, out);
  if (!grid) return grid.error();
  // Pages of one list may end at different times: the token remembers what is listed, not when.
  out.filter = "query " + out.selector.text();
  auto page = parse_page(parameters, out.filter);
  if (!page) return page.error();
  out.page = std::move(*page);
  if (!parameters.contains("limit")) out.page.limit = MetricQuery::kDefaultLimit;
  return out;
}

}  // namespace koordlet::status_api
