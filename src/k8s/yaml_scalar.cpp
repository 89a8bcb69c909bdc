#include <algorithm>
#include <charconv>
#include <optional>

#include "k8s/yaml_reader.hpp"

namespace koordlet::k8s {
namespace {

namespace json = boost::json;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

std::string_view without_sign(std::string_view text) {
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) text.remove_prefix(1);
  return text;
}

/// [-+]?[0-9]+, 0o[0-7]+, 0x[0-9a-fA-F]+
bool is_integer(std::string_view text) { return all_digits(without_sign(text)); }

/// [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?
bool is_float(std::string_view text) {
  text = without_sign(text);
  const auto e = text.find_first_of("eE");
  if (e != std::string_view::npos && !all_digits(without_sign(text.substr(e + 1)))) return false;
  const auto mantissa = text.substr(0, e);
  const auto dot = mantissa.find('.');
  if (dot == std::string_view::npos) return all_digits(mantissa);
  const auto whole = mantissa.substr(0, dot);
  const auto fraction = mantissa.substr(dot + 1);
  if (whole.empty()) return all_digits(fraction);
  return all_digits(whole) && (fraction.empty() || all_digits(fraction));
}

std::optional<json::value> to_integer(std::string_view text, int base) {
  if (!text.empty() && text[0] == '+') text.remove_prefix(1);
  const char* const end = text.data() + text.size();
  std::int64_t value = 0;
  if (const auto r = std::from_chars(text.data(), end, value, base);
      r.ec == std::errc{} && r.ptr == end) {
    return json::value(value);
  }
  std::uint64_t wide = 0;
  if (const auto r = std::from_chars(text.data(), end, wide, base);
      r.ec == std::errc{} && r.ptr == end) {
    return json::value(wide);
  }
  return std::nullopt;
}

std::optional<json::value> to_double(std::string_view text) {
  if (!text.empty() && text[0] == '+') text.remove_prefix(1);
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto r = std::from_chars(text.data(), end, value);
  if (r.ec != std::errc{} || r.ptr != end) return std::nullopt;
  return json::value(value);
}

}  // namespace

json::value resolve_scalar(std::string_view text) {
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") {
    return nullptr;
  }
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  std::optional<json::value> number;
  if (text.starts_with("0x") || text.starts_with("0o")) {
    const auto digits = text.substr(2);
    // from_chars would take a sign here.
    if (!digits.empty() && digits[0] != '-' && digits[0] != '+') {
      number = to_integer(digits, text[1] == 'x' ? 16 : 8);
    }
  } else if (is_integer(text)) {
    number = to_integer(text, 10);
    if (!number) number = to_double(text);
  } else if (is_float(text)) {
    number = to_double(text);
  }
  // What JSON cannot carry (.nan, .inf, 1e999) stays text, and is refused where a number is due.
  return number ? std::move(*number) : json::value(text);
}

}  // namespace koordlet::k8s
