#include "app/query_options.hpp"

#include <array>

#include <fmt/format.h>

#include "app/export_text.hpp"
#include "base/parse.hpp"
#include "model/metric_selector.hpp"
#include "modules/status_api/metric_query.hpp"

namespace koordlet::app {
namespace {

constexpr std::array<QueryFlag, 6> kFlags{
    {{"label", "NAME=VALUE", "only series with this label; may be repeated"},
     {"window", "DURATION", "how far back: 90s, 5m, 1h (the default), 7d"},
     {"func", "LIST", "last,count,mean,min,max,p95,quantile(0.9),rate,trend"},
     {"step", "DURATION", "width of a point of the history (default window / 32)"},
     {"export", "FORMAT", "every stored sample as openmetrics or csv"},
     {"output", "FILE", "where --export writes (default stdout)"}}};

Error fault(std::string text) { return {Errc::kParse, std::move(text)}; }

Result<void> check_span(std::string_view flag, const std::string& text) {
  const auto span = parse_span_ms(text);
  if (!span) return fault(fmt::format("--{}: {}", flag, span.error().context));
  if (*span <= 0) return fault(fmt::format("--{}: {}: expected more than 0 s", flag, text));
  return {};
}

Result<void> take_flag(const std::string& name, const std::string& value, QueryOptions& out) {
  if (name == "window") {
    out.window = value;
    return check_span(name, value);
  }
  if (name == "step") {
    out.step = value;
    return check_span(name, value);
  }
  if (name == "func") {
    out.functions = value;
    const auto parsed = status_api::parse_functions(value);
    if (!parsed) return fault("--" + parsed.error().context);
    return {};
  }
  if (value.empty()) return fault(fmt::format("--{}: expected a value", name));
  if (name == "output") {
    out.output = value;
    return {};
  }
  out.format = value;
  if (!export_format(value))
    return fault(fmt::format("--export: {}: expected openmetrics or csv", value));
  return {};
}

}  // namespace

std::span<const QueryFlag> query_flags() { return kFlags; }

Result<void> take_query_flags(const std::vector<std::pair<std::string, std::string>>& given,
                              bool json,
                              QueryOptions& out) {
  for (const auto& [name, value] : given) {
    if (const auto taken = take_flag(name, value, out); !taken) return taken;
  }
  if (!out.output.empty() && out.format.empty()) return fault("--output: expected --export");
  if (!out.format.empty() && (json || !out.functions.empty() || !out.step.empty()))
    return fault("--export: takes no --json, --func or --step: it writes what is stored");
  const auto selector = selector_of(out);
  if (!selector) return selector.error();
  const bool table = out.format.empty() && out.metric.empty();
  for (const auto& [name, value] : given) {
    if (table && name != "label")
      return fault(fmt::format("--{}: expected a METRIC with it", name));
  }
  return {};
}

Result<std::string> selector_of(const QueryOptions& options) {
  const bool exported = !options.format.empty();
  if (options.metric.empty() && options.labels.empty()) return std::string{};
  if (options.metric.empty() && !exported) return fault("--label: expected a METRIC");
  auto selector = options.metric.empty() ? Result<MetricSelector>{MetricSelector{}}
                                         : parse_selector(options.metric);
  if (!selector) return selector.error();
  if (selector->metric.empty() && !exported)
    return fault(fmt::format("query: {}: expected a METRIC", options.metric));
  for (const auto& text : options.labels) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      return fault(fmt::format("--label: {}: expected NAME=VALUE", text));
    selector->matches.push_back({text.substr(0, equals), text.substr(equals + 1), true});
  }
  // Names of labels, and their number, are checked as those of a selector are.
  auto whole = selector->text();
  const auto again = parse_selector(whole);
  if (!again) return again.error();
  return whole;
}

}  // namespace koordlet::app
