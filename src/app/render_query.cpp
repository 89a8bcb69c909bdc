#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "app/json_path.hpp"
#include "app/render.hpp"
#include "app/text_table.hpp"
#include "policy/series_plot.hpp"

namespace koordlet::app {
namespace {

namespace json = boost::json;
constexpr auto kRight = TextTable::Align::kRight;
constexpr std::string_view kTrend = "trend";

std::optional<std::int64_t> whole(double v) {
  if (!std::isfinite(v) || std::abs(v) >= 9e18) return std::nullopt;
  return std::llround(v);
}

/// A value of the unit for people.
std::string unit_text(std::string_view unit, double v) {
  if (unit == "milli-cores") return cores_text(whole(v));
  if (unit == "bytes") return bytes_text(whole(v));
  if (unit == "bytes/s") return bytes_text(whole(v)) + "/s";
  if (unit == "permille") return percent_text(v / 10);
  if (unit == "microseconds") return fmt::format("{:.2f} ms", v / 1000);
  if (unit == "thousandths") return fmt::format("{:.3f}", v / 1000);
  if (std::trunc(v) == v && std::abs(v) < 1e15) return fmt::format("{:.0f}", v);
  return fmt::format("{:.6g}", v);
}

std::string unit_title(std::string_view unit) {
  if (unit == "milli-cores") return "cores";
  if (unit == "permille") return "%";
  return unit == "microseconds" ? "ms" : unit == "thousandths" ? "ratio" : std::string{unit};
}

std::string trend_text(const json::value& item, std::string_view unit) {
  const auto direction = json_text(item, "values.trend.direction", "");
  if (direction.empty()) return "-";
  if (direction == "flat") return "\u2192";
  const auto slope = json_number(item, "values.trend.slope_per_hour").value_or(0);
  return fmt::format("{} {}{}/h",
                     direction == "rising" ? "\u2191" : "\u2193",
                     slope > 0 ? "+" : "",
                     unit_text(unit, slope));
}

/// Not json_path: names of functions hold dots ("p99.9").
const json::value* field(const json::value& object, std::string_view outer, std::string_view name) {
  const auto* at = json_at(object, outer);
  return at != nullptr && at->is_object() ? at->get_object().if_contains(name) : nullptr;
}

std::string function_text(const json::value& item, std::string_view name, std::string_view unit) {
  if (name == kTrend) return trend_text(item, unit);
  const auto* v = field(item, "values", name);
  if (v == nullptr || !v->is_number()) return "-";
  const auto number = v->to_number<double>();
  if (name == "count") return fmt::format("{:.0f}", number);
  return name == "rate" ? unit_text(unit, number) + "/s" : unit_text(unit, number);
}

/// Of the means when they are there, else of what is.
std::string spark_text(const json::value& item) {
  const auto* points = json_at(item, "points");
  if (points == nullptr || !points->is_object() || points->get_object().empty()) return "";
  const auto& all = points->get_object();
  const auto* line = all.if_contains("mean");
  if (line == nullptr) line = &all.begin()->value();
  if (!line->is_array()) return "";
  std::vector<std::optional<double>> values;
  for (const auto& v : line->get_array())
    values.push_back(v.is_number() ? std::optional{v.to_number<double>()} : std::nullopt);
  // Blanks at the end would be cut, and lines be read as shorter than they are.
  return "|" + policy::sparkline(values) + "|";
}

std::vector<std::string> keys_of(const json::array& items, std::string_view object) {
  std::vector<std::string> out;
  for (const auto& item : items) {
    const auto* at = json_at(item, object);
    if (at == nullptr || !at->is_object()) continue;
    for (const auto& member : at->get_object()) {
      const std::string name{member.key()};
      if (std::find(out.begin(), out.end(), name) == out.end()) out.push_back(name);
    }
  }
  return out;
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return text;
}

}  // namespace

std::string render_query(const json::value& answer) {
  const auto& items = json_array(answer, "items");
  const auto unit = json_text(answer, "unit", "");
  const auto from = json_integer(answer, "from_ms");
  const auto to = json_integer(answer, "to_ms");
  std::string out = fmt::format("{}{}{}, last {}\n",
                                terminal_text(json_text(answer, "metric")),
                                unit.empty() ? "" : ", ",
                                terminal_text(unit_title(unit)),
                                from && to ? age_text(*to - *from) : "-");
  if (items.empty()) return out + "no such series\n";
  const auto labels = keys_of(items, "labels");
  const auto functions = keys_of(items, "values");
  std::vector<TextTable::Column> columns;
  for (const auto& label : labels) columns.push_back({upper(terminal_text(label))});
  for (const auto& f : functions)
    columns.push_back({upper(terminal_text(f)),
                       f == kTrend ? TextTable::Align::kLeft : TextTable::Align::kRight});
  columns.push_back({"HISTORY"});
  TextTable table{std::move(columns)};
  bool sketched = false;
  for (const auto& item : items) {
    std::vector<std::string> cells;
    for (const auto& label : labels) {
      const auto* v = field(item, "labels", label);
      cells.push_back(v != nullptr && v->is_string() ? std::string{v->get_string()} : "-");
    }
    for (const auto& f : functions) cells.push_back(function_text(item, f, unit));
    cells.push_back(spark_text(item));
    table.row(std::move(cells));
    sketched = sketched || !json_bool(item, "exact").value_or(true);
  }
  out += table.text();
  if (sketched) out += "older samples are gone: quantiles are within 1 %\n";
  return out;
}

std::string render_metrics(const json::value& list) {
  TextTable table({{"METRIC"}, {"SERIES", kRight}, {"UNIT"}, {"LABELS"}, {"WHAT"}});
  for (const auto& m : json_array(list, "items")) {
    std::string labels;
    for (const auto& label : json_array(m, "labels"))
      labels += (labels.empty() ? "" : ", ") + json_text(label, "", "");
    table.row({json_text(m, "metric"),
               json_text(m, "series"),
               json_text(m, "unit"),
               labels.empty() ? "-" : labels,
               json_text(m, "about")});
  }
  return table.empty() ? "no series yet\n" : table.text();
}

}  // namespace koordlet::app
