#include "app/export_text.hpp"

#include <algorithm>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "app/json_path.hpp"
#include "model/metric_kind.hpp"
#include "model/metric_selector.hpp"

namespace koordlet::app {
namespace {

namespace json = boost::json;

/// A name of the exposition: letters, digits and '_', not a digit first.
std::string clean_name(std::string_view text) {
  std::string out{text};
  for (char& c : out) {
    const bool good =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (!good) c = '_';
  }
  if (out.empty() || (out.front() >= '0' && out.front() <= '9')) out.insert(0, "_");
  return out;
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string{text};
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

/// Seconds without losing the milliseconds; whole ones without a point.
std::string seconds_text(std::int64_t ms) {
  if (ms % 1000 == 0) return std::to_string(ms / 1000);
  return fmt::format("{}.{:03}", ms / 1000, ms % 1000);
}

/// [time, value] and [time, count, min, max, mean, last].
std::optional<ExportPoint> point_of(const json::value& v, bool minute) {
  const auto* parts = v.if_array();
  const std::size_t value_at = minute ? 4 : 1;
  if (parts == nullptr || parts->size() <= value_at) return std::nullopt;
  const auto at = json_integer((*parts)[0], "");
  const auto value = json_number((*parts)[value_at], "");
  if (!at || !value) return std::nullopt;
  const auto exact = json_integer((*parts)[value_at], "");
  return ExportPoint{
      *at, *value, exact ? std::to_string(*exact) : fmt::format("{}", *value), minute};
}

struct Family {
  std::string name, unit, help;
  double per = 1;
};

Family family_of(const ExportSeries& series) {
  Family out;
  out.name = "koordlet_" + clean_name(series.metric);
  out.help = series.metric;
  const auto* kind = find_metric_kind(series.metric);
  // A daemon whose unit is another one is of another version: its values stay as they are.
  if (kind == nullptr || to_string(kind->unit) != series.unit) return out;
  const auto base = base_unit(kind->unit);
  out.unit = base.name;
  out.per = base.per;
  out.help = kind->about;
  if (!out.unit.empty() && !out.name.ends_with("_" + out.unit)) out.name += "_" + out.unit;
  return out;
}

}  // namespace

std::optional<ExportFormat> export_format(std::string_view name) {
  if (name == "openmetrics") return ExportFormat::kOpenMetrics;
  if (name == "csv") return ExportFormat::kCsv;
  return std::nullopt;
}

ExportSeries export_series(const json::value& item) {
  ExportSeries out;
  out.metric = json_text(item, "metric", "");
  out.unit = json_text(item, "unit", "");
  if (const auto* labels = json_at(item, "labels"); labels != nullptr && labels->is_object()) {
    for (const auto& [name, value] : labels->get_object()) {
      if (value.is_string()) out.labels.emplace_back(name, std::string{value.get_string()});
    }
  }
  for (const auto& v : json_array(item, "rollups")) {
    if (auto p = point_of(v, true)) out.points.push_back(std::move(*p));
  }
  const auto minutes = static_cast<std::ptrdiff_t>(out.points.size());
  for (const auto& v : json_array(item, "samples")) {
    if (auto p = point_of(v, false)) out.points.push_back(std::move(*p));
  }
  std::inplace_merge(out.points.begin(),
                     out.points.begin() + minutes,
                     out.points.end(),
                     [](const auto& a, const auto& b) { return a.at_ms < b.at_ms; });
  return out;
}

std::string ExportText::head() const {
  if (format_ == ExportFormat::kOpenMetrics) return "";
  std::string out = "metric,unit";
  for (const auto& c : columns_) out += "," + csv_field(c);
  return out + ",time_ms,value,source\n";
}

std::string ExportText::tail() const {
  return format_ == ExportFormat::kOpenMetrics ? "# EOF\n" : "";
}

std::string ExportText::piece(const ExportSeries& series) {
  return format_ == ExportFormat::kOpenMetrics ? openmetrics(series) : csv(series);
}

std::string ExportText::openmetrics(const ExportSeries& series) {
  const auto family = family_of(series);
  std::string out;
  if (family.name != family_) {
    family_ = family.name;
    out += fmt::format("# TYPE {} gauge\n", family.name);
    if (!family.unit.empty()) out += fmt::format("# UNIT {} {}\n", family.name, family.unit);
    out += fmt::format("# HELP {} {}\n", family.name, family.help);
  }
  std::string name = family.name;
  for (std::size_t i = 0; i < series.labels.size(); ++i) {
    const auto& [label, value] = series.labels[i];
    name += fmt::format("{}{}={}", i == 0 ? "{" : ",", clean_name(label), quoted_label(value));
  }
  if (!series.labels.empty()) name += '}';
  for (const auto& p : series.points)
    out += fmt::format("{} {} {}\n", name, p.value / family.per, seconds_text(p.at_ms));
  return out;
}

std::string ExportText::csv(const ExportSeries& series) const {
  std::string front = csv_field(series.metric) + "," + csv_field(series.unit);
  for (const auto& column : columns_) {
    const auto at = std::find_if(series.labels.begin(), series.labels.end(), [&](const auto& l) {
      return l.first == column;
    });
    front += ',';
    if (at != series.labels.end()) front += csv_field(at->second);
  }
  std::string out;
  for (const auto& p : series.points)
    out += fmt::format("{},{},{},{}\n", front, p.at_ms, p.text, p.minute ? "minute" : "sample");
  return out;
}

}  // namespace koordlet::app
