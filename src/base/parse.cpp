#include "base/parse.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

namespace koordlet {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

/// Outside text in a message is cut, so that a damaged file cannot flood the log.
std::string quoted(std::string_view text) {
  constexpr std::size_t kMax = 40;
  return fmt::format("'{}{}'", text.substr(0, kMax), text.size() > kMax ? "..." : "");
}

template <class Int>
Result<Int> parse_int(std::string_view text, std::string_view kind) {
  Int value{};
  const char* const end = text.data() + text.size();
  const auto [stop, ec] = std::from_chars(text.data(), end, value);
  if (ec == std::errc::result_out_of_range && stop == end) {
    return Error{Errc::kRange,
                 fmt::format("expected {}, got {}: out of range", kind, quoted(text))};
  }
  if (ec != std::errc{} || stop != end) {
    return Error{Errc::kParse, fmt::format("expected {}, got {}", kind, quoted(text))};
  }
  return value;
}

}  // namespace

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

Result<std::int64_t> parse_i64(std::string_view text) {
  return parse_int<std::int64_t>(text, "an integer");
}

Result<std::uint64_t> parse_u64(std::string_view text) {
  return parse_int<std::uint64_t>(text, "a non-negative integer");
}

Result<double> parse_real(std::string_view text) {
  double out = 0;
  const auto* end = text.data() + text.size();
  const auto [at, ec] = std::from_chars(text.data(), end, out);
  if (ec == std::errc::result_out_of_range) {
    return Error{Errc::kRange,
                 fmt::format("\"{}\": expected a number of a double", printable(text, 60))};
  }
  if (ec != std::errc{} || at != end || !std::isfinite(out)) {
    return Error{Errc::kParse, fmt::format("\"{}\": expected a number", printable(text, 60))};
  }
  return out;
}

std::optional<std::string_view> next_field(std::string_view& rest) {
  const auto first = rest.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) {
    rest = {};
    return std::nullopt;
  }
  const auto end = rest.find_first_of(kBlanks, first);
  const auto field = rest.substr(first, end == std::string_view::npos ? end : end - first);
  rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end);
  return field;
}

std::optional<std::string_view> next_line(std::string_view& rest) {
  if (rest.empty()) return std::nullopt;
  const auto end = rest.find('\n');
  const auto line = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  return line;
}

std::string printable(std::string_view text, std::size_t max) {
  text = trim(text);  // a line of text comes with its end
  std::string out{text.substr(0, max)};
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c < 0x20 || c > 0x7e; }, '?');
  if (text.size() > max) out += "...";
  return out;
}

Result<std::int64_t> parse_span_ms(std::string_view text) {
  struct Unit {
    std::string_view name;
    std::int64_t ms;
  };
  static constexpr Unit kUnits[]{
      {"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1000}, {"ms", 1}};
  static constexpr std::string_view kDigits = "0123456789";
  const auto whole = text;
  const Error unlike{
      Errc::kParse,
      fmt::format("expected a duration such as 90s, 5m, 1h30m, got {}", quoted(whole))};
  const Error huge{Errc::kRange, fmt::format("{}: too long", quoted(whole))};
  std::int64_t sum = 0;
  do {
    const auto digits = std::min(text.find_first_not_of(kDigits), text.size());
    const auto number = parse_i64(text.substr(0, digits));
    if (!number) return number.error().code == Errc::kRange ? huge : unlike;
    text.remove_prefix(digits);
    const auto letters = std::min(text.find_first_of(kDigits), text.size());
    const auto name = text.substr(0, letters);
    text.remove_prefix(letters);
    const auto unit = std::find_if(
        std::begin(kUnits), std::end(kUnits), [&](const Unit& u) { return u.name == name; });
    if (unit == std::end(kUnits)) return unlike;
    std::int64_t part = 0;
    if (__builtin_mul_overflow(*number, unit->ms, &part) ||
        __builtin_add_overflow(sum, part, &sum)) {
      return huge;
    }
  } while (!text.empty());
  return sum;
}

}  // namespace koordlet
