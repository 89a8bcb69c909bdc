#include "app/series_file.hpp"

#include <chrono>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "app/text_table.hpp"
#include "base/parse.hpp"

namespace koordlet::app {
namespace {

constexpr std::size_t kMostColumns = 1000;
constexpr std::size_t kShown = 40;
constexpr std::int64_t kMostSeconds = 253402300799;  // the year 9999

enum class TimeKind { kStamp, kMinute, kSecond };

std::string shown(std::string_view text) { return terminal_text(text.substr(0, kShown)); }

Error fault(std::size_t line, std::string_view what, std::string_view got, std::string_view want) {
  return {Errc::kParse,
          fmt::format("line {}: {}: '{}': expected {}", line, what, shown(got), want)};
}

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> out;
  for (;;) {
    const auto comma = line.find(',');
    out.push_back(trim(line.substr(0, comma)));
    if (comma == std::string_view::npos) return out;
    line.remove_prefix(comma + 1);
  }
}

std::optional<int> digits(std::string_view text, std::size_t at, std::size_t count) {
  int out = 0;
  for (std::size_t i = at; i < at + count; ++i) {
    if (i >= text.size() || text[i] < '0' || text[i] > '9') return std::nullopt;
    out = out * 10 + (text[i] - '0');
  }
  return out;
}

/// "2014-02-14 14:30:00"
std::optional<std::int64_t> stamp(std::string_view t) {
  using namespace std::chrono;
  if (t.ends_with('Z')) t.remove_suffix(1);
  if (t.size() != 19 || t[4] != '-' || t[7] != '-' || (t[10] != ' ' && t[10] != 'T') ||
      t[13] != ':' || t[16] != ':') {
    return std::nullopt;
  }
  const auto y = digits(t, 0, 4), mo = digits(t, 5, 2), d = digits(t, 8, 2);
  const auto h = digits(t, 11, 2), mi = digits(t, 14, 2), s = digits(t, 17, 2);
  if (!y || !mo || !d || !h || !mi || !s || *h > 23 || *mi > 59 || *s > 59) return std::nullopt;
  const year_month_day day{
      year{*y}, month{static_cast<unsigned>(*mo)}, std::chrono::day{static_cast<unsigned>(*d)}};
  if (!day.ok()) return std::nullopt;
  const std::int64_t out =
      sys_days{day}.time_since_epoch().count() * 86400LL + *h * 3600 + *mi * 60 + *s;
  return out >= 0 ? std::optional<std::int64_t>{out} : std::nullopt;
}

std::optional<std::int64_t> time_of(std::string_view text, TimeKind kind) {
  if (kind == TimeKind::kStamp) return stamp(text);
  const auto n = parse_i64(text);
  const std::int64_t unit = kind == TimeKind::kMinute ? 60 : 1;
  if (!n || *n < 0 || *n > kMostSeconds / unit) return std::nullopt;
  return *n * unit;
}

std::optional<double> amount(std::string_view text) {
  const auto out = parse_real(text);
  if (!out || *out < 0 || *out > 1e18) return std::nullopt;
  return *out;
}

Result<TimeKind> read_header(std::string_view line, SeriesTable& out) {
  const auto names = fields_of(line);
  std::optional<TimeKind> kind;
  if (names[0] == "timestamp") kind = TimeKind::kStamp;
  if (names[0] == "minute") kind = TimeKind::kMinute;
  if (names[0] == "second") kind = TimeKind::kSecond;
  if (!kind) return fault(1, "first column", names[0], "timestamp, minute or second");
  if (names.size() < 2 || names.size() > kMostColumns + 1) {
    return Error{
        Errc::kRange,
        fmt::format("line 1: {} columns: expected 2 to {}", names.size(), kMostColumns + 1)};
  }
  for (std::size_t i = 1; i < names.size(); ++i) {
    if (names[i].empty()) return fault(1, fmt::format("column {}", i + 1), "", "a name");
    for (const auto& known : out.columns)
      if (known == names[i]) return fault(1, "column", names[i], "a name of its own");
    out.columns.emplace_back(names[i]);
  }
  out.values.resize(out.columns.size());
  return *kind;
}

Result<void> read_row(std::string_view text, std::size_t line, TimeKind kind, SeriesTable& out) {
  const auto fields = fields_of(text);
  if (fields.size() != out.columns.size() + 1) {
    return Error{
        Errc::kParse,
        fmt::format(
            "line {}: {} fields: expected {}", line, fields.size(), out.columns.size() + 1)};
  }
  const auto at = time_of(fields[0], kind);
  if (!at) {
    return fault(line,
                 "time",
                 fields[0],
                 kind == TimeKind::kStamp ? "YYYY-MM-DD hh:mm:ss" : "a whole number");
  }
  std::vector<double> row;
  for (std::size_t i = 1; i < fields.size(); ++i) {
    if (fields[i].empty()) {
      row.push_back(std::numeric_limits<double>::quiet_NaN());
      continue;
    }
    const auto v = amount(fields[i]);
    if (!v) return fault(line, out.columns[i - 1], fields[i], "a number of at least 0");
    row.push_back(*v);
  }
  if (!out.times_s.empty() && *at <= out.times_s.back()) {
    if (out.left_out++ == 0) out.first_left_out_line = line;
    return {};
  }
  out.times_s.push_back(*at);
  for (std::size_t i = 0; i < row.size(); ++i) out.values[i].push_back(row[i]);
  return {};
}

}  // namespace

Result<SeriesTable> parse_series(std::string_view text) {
  SeriesTable out;
  std::string_view rest = text;
  std::size_t line = 1;
  const auto header = next_line(rest);
  if (!header) return Error{Errc::kParse, "line 1: empty: expected a header"};
  const auto kind = read_header(*header, out);
  if (!kind) return kind.error();
  while (const auto row = next_line(rest)) {
    ++line;
    if (trim(*row).empty()) continue;
    const auto taken = read_row(*row, line, *kind, out);
    if (!taken) return taken.error();
  }
  if (out.times_s.size() < 2) {
    return Error{Errc::kParse,
                 fmt::format("line {}: {} rows: expected two at least", line, out.times_s.size())};
  }
  return out;
}

}  // namespace koordlet::app
