#include "k8s/time_text.hpp"

#include <limits>
#include <optional>

#include <fmt/format.h>

namespace koordlet::k8s {
namespace {

using std::chrono::nanoseconds;

constexpr auto kMaxNanos = static_cast<__int128>(std::numeric_limits<std::int64_t>::max());

Error not_a_duration(std::string_view text) {
  return Error{Errc::kParse,
               fmt::format("expected a duration like 5m0s, got '{}'", text.substr(0, 40))};
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Cuts the unit off the front; nanoseconds of it.
std::optional<std::int64_t> take_unit(std::string_view& rest) {
  struct Unit {
    std::string_view name;
    std::int64_t ns;
  };
  // Longer names first: "ms" is no "m".
  constexpr Unit kUnits[] = {{"ns", 1},
                             {"us", 1'000},
                             {"\u00b5s", 1'000},
                             {"\u03bcs", 1'000},
                             {"ms", 1'000'000},
                             {"s", 1'000'000'000},
                             {"m", 60'000'000'000},
                             {"h", 3'600'000'000'000}};
  for (const auto& unit : kUnits) {
    if (!rest.starts_with(unit.name)) continue;
    rest.remove_prefix(unit.name.size());
    return unit.ns;
  }
  return std::nullopt;
}

/// One "<number><unit>" off the front, in nanoseconds; nullopt when there is none. A value past
/// kMaxNanos comes back as just that.
std::optional<__int128> take_part(std::string_view& rest) {
  __int128 whole = 0, fraction = 0, scale = 1;
  bool any = false, past_point = false;
  while (!rest.empty() && (is_digit(rest[0]) || (rest[0] == '.' && !past_point))) {
    const char c = rest[0];
    rest.remove_prefix(1);
    if (c == '.') {
      past_point = true;
      continue;
    }
    any = true;
    if (!past_point) {
      if (whole <= kMaxNanos) whole = whole * 10 + (c - '0');
    } else if (scale < 1'000'000'000'000'000) {
      fraction = fraction * 10 + (c - '0');
      scale *= 10;
    }
  }
  if (!any) return std::nullopt;
  const auto unit = take_unit(rest);
  if (!unit) return std::nullopt;
  if (whole > kMaxNanos / *unit) return kMaxNanos + 1;
  return whole * *unit + fraction * *unit / scale;
}

}  // namespace

Result<nanoseconds> parse_duration(std::string_view text) {
  std::string_view rest = text;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  if (rest == "0") return nanoseconds{0};
  if (rest.empty()) return not_a_duration(text);
  __int128 sum = 0;
  while (!rest.empty()) {
    const auto part = take_part(rest);
    if (!part) return not_a_duration(text);
    sum += *part;
    if (sum > kMaxNanos) {
      return Error{Errc::kRange, fmt::format("'{}': out of range", text.substr(0, 40))};
    }
  }
  const auto value = static_cast<std::int64_t>(sum);
  return nanoseconds{negative ? -value : value};
}

std::string format_duration(std::chrono::seconds d) {
  const std::string sign = d.count() < 0 ? "-" : "";
  const auto total = d.count() < 0 ? -d.count() : d.count();
  const auto h = total / 3600, m = total / 60 % 60, s = total % 60;
  if (h > 0) return fmt::format("{}{}h{}m{}s", sign, h, m, s);
  if (m > 0) return fmt::format("{}{}m{}s", sign, m, s);
  return fmt::format("{}{}s", sign, s);
}

std::string format_time(WallTime t) {
  const auto s = std::chrono::floor<std::chrono::seconds>(t);
  const auto day = std::chrono::floor<std::chrono::days>(s);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss time{s - day};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z",
                     static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()),
                     time.hours().count(),
                     time.minutes().count(),
                     time.seconds().count());
}

}  // namespace koordlet::k8s
