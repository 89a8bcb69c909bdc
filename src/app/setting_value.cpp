#include <algorithm>
#include <array>

#include <boost/asio/ip/address.hpp>
#include <fmt/format.h>

#include "app/setting.hpp"
#include "base/parse.hpp"
#include "k8s/server_url.hpp"

namespace koordlet::app {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t factor;
};
constexpr std::array<Unit, 4> kDurations{{{"h", 3'600'000}, {"m", 60'000}, {"s", 1000}, {"ms", 1}}};
constexpr std::array<Unit, 5> kSizes{
    {{"TiB", 1ll << 40}, {"GiB", 1ll << 30}, {"MiB", 1ll << 20}, {"KiB", 1ll << 10}, {"B", 1}}};
constexpr std::size_t kMaxSocketPath = 107;  // sun_path without the NUL

/// Cuts "<digits><unit>" off the front of `rest`.
Result<std::int64_t> take_part(std::string_view& rest, const auto& units) {
  const auto digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
  const auto number = parse_i64(rest.substr(0, digits));
  if (!number) return number.error();
  rest.remove_prefix(digits);
  const auto letters = std::min(rest.find_first_of("0123456789"), rest.size());
  const auto name = rest.substr(0, letters);
  rest.remove_prefix(letters);
  for (const Unit& u : units) {
    if (u.name != name) continue;
    std::int64_t out = 0;
    if (__builtin_mul_overflow(*number, u.factor, &out)) return Error{Errc::kRange, "too large"};
    return out;
  }
  return Error{Errc::kParse, fmt::format("unknown unit '{}'", printable(name))};
}

std::string in_largest_unit(std::int64_t value, const auto& units) {
  for (const Unit& u : units) {
    if (value % u.factor == 0 && (value != 0 || u.factor == 1)) {
      return fmt::format("{}{}", value / u.factor, u.name);
    }
  }
  return std::to_string(value);
}

std::string quoted_list(const std::vector<std::string>& words, std::string_view last) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i != 0) out += i + 1 == words.size() ? fmt::format(" {} ", last) : ", ";
    out += fmt::format("\"{}\"", words[i]);
  }
  return out;
}

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
}

bool is_absolute_path(std::string_view text) {
  return !has_control(text) && text.starts_with('/') &&
         ("/" + std::string{text} + "/").find("/../") == std::string::npos;
}

bool is_loopback(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return false;
  const auto port = parse_u64(text.substr(colon + 1));
  if (!port || *port > 65'535) return false;
  auto host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return false;  // an IPv6 address without brackets
  }
  boost::system::error_code ec;
  const auto address = boost::asio::ip::make_address(std::string{host}, ec);
  return !ec && address.is_loopback();
}

bool is_node_name(std::string_view text) {
  return text.size() <= 253 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
         });
}

/// A folder that resctrl would take; "info" and two more are its own.
bool is_group_name(std::string_view word) {
  return !word.empty() && word.size() <= 255 && !word.starts_with('.') &&
         word.find('/') == std::string_view::npos && word != "info" && word != "mon_data" &&
         word != "mon_groups";
}

bool are_group_names(std::string_view text) {
  if (has_control(text)) return false;
  for (std::size_t from = 0; !text.empty() && from <= text.size();) {
    const auto end = std::min(text.find(',', from), text.size());
    if (!is_group_name(trim(text.substr(from, end - from)))) return false;
    from = end + 1;
  }
  return true;
}

bool fits(TextRule rule, std::string_view text) {
  switch (rule) {
    case TextRule::kAny:
      return true;
    case TextRule::kAbsolutePath:
      return is_absolute_path(text);
    case TextRule::kPathOrNone:
      return text.empty() || is_absolute_path(text);
    case TextRule::kUrl:
      return text.empty() || k8s::parse_server_url(text).has_value();
    case TextRule::kSocket:
      return text.empty() || (is_absolute_path(text) && text.size() <= kMaxSocketPath);
    case TextRule::kLoopback:
      return text.empty() || is_loopback(text);
    case TextRule::kNodeName:
      return is_node_name(text);
    case TextRule::kGroupNames:
      return are_group_names(text);
  }
  return false;
}

Result<SettingValue> bounded(const Setting& s, Result<std::int64_t> n) {
  if (!n || *n < s.min || *n > s.max || *n % s.step != 0) {
    return Error{n ? Errc::kRange : n.error().code, expected(s)};
  }
  return SettingValue{*n};
}

Result<SettingValue> convert_string(const Setting& s, const std::string& text) {
  const Error refusal{Errc::kRange, expected(s)};
  switch (s.type) {
    case SettingType::kDuration:
      return bounded(s, parse_duration_ms(text));
    case SettingType::kSize:
      return bounded(s, parse_size(text));
    case SettingType::kText:
      if (!fits(s.rule, text)) return refusal;
      return SettingValue{text};
    case SettingType::kEnum:
      if (std::find(s.choices.begin(), s.choices.end(), text) == s.choices.end()) return refusal;
      return SettingValue{text};
    case SettingType::kOptionalInteger:
      if (text == "none") return SettingValue{};
      return refusal;
    case SettingType::kBool:
    case SettingType::kInteger:
      return refusal;
  }
  return refusal;
}

}  // namespace

Result<std::int64_t> parse_duration_ms(std::string_view text) {
  if (text.empty()) return Error{Errc::kParse, "no duration"};
  std::int64_t sum = 0;
  while (!text.empty()) {
    const auto part = take_part(text, kDurations);
    if (!part) return part.error();
    if (__builtin_add_overflow(sum, *part, &sum)) return Error{Errc::kRange, "too large"};
  }
  return sum;
}

Result<std::int64_t> parse_size(std::string_view text) {
  const auto size = take_part(text, kSizes);
  if (size && !text.empty()) return Error{Errc::kParse, "text after the unit"};
  return size;
}

std::string format_duration_ms(std::int64_t ms) {
  return ms == 0 ? "0s" : in_largest_unit(ms, kDurations);
}
std::string format_size(std::int64_t bytes) { return in_largest_unit(bytes, kSizes); }

std::string printable(std::string_view text) {
  constexpr std::size_t kMax = 80;
  std::string out{text.substr(0, kMax)};
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  if (text.size() > kMax) out += "...";
  return out;
}

std::string range_text(const Setting& s) {
  switch (s.type) {
    case SettingType::kBool:
      return "true or false";
    case SettingType::kInteger:
      return fmt::format("{} to {}", s.min, s.max);
    case SettingType::kOptionalInteger:
      return fmt::format("{} to {}, or \"none\"", s.min, s.max);
    case SettingType::kDuration:
      return fmt::format("{} to {}", format_duration_ms(s.min), format_duration_ms(s.max));
    case SettingType::kSize:
      return fmt::format("{} to {}", format_size(s.min), format_size(s.max));
    case SettingType::kEnum:
      return quoted_list(s.choices, "or");
    case SettingType::kText:
      break;
  }
  switch (s.rule) {
    case TextRule::kAny:
      return "text";
    case TextRule::kAbsolutePath:
      return "absolute path";
    case TextRule::kPathOrNone:
      return "absolute path, or empty";
    case TextRule::kUrl:
      return "https://HOST:PORT or http://HOST:PORT, or empty";
    case TextRule::kSocket:
      return fmt::format("absolute path of at most {} bytes, or empty", kMaxSocketPath);
    case TextRule::kLoopback:
      return "loopback ADDRESS:PORT, or empty";
    case TextRule::kNodeName:
      return "name of a Node, or empty";
    case TextRule::kGroupNames:
      return "names with commas between, or empty; none is \"info\", \"mon_data\" or "
             "\"mon_groups\", starts with '.' or has a '/'";
  }
  return "";
}

std::string expected(const Setting& s) {
  const std::string range = range_text(s);
  switch (s.type) {
    case SettingType::kBool:
    case SettingType::kEnum:
      return "expected " + range;
    case SettingType::kInteger:
    case SettingType::kOptionalInteger:
      return "expected a whole number from " + range;
    case SettingType::kDuration:
      return fmt::format("expected a duration from {}, such as \"{}\"{}",
                         range,
                         s.step == 1 ? "500ms" : "90s",
                         s.step == 1 ? "" : ", in whole seconds");
    case SettingType::kSize:
      return fmt::format("expected a size from {}, such as \"64MiB\"", range);
    case SettingType::kText:
      return fmt::format("expected {}{}", s.rule == TextRule::kAbsolutePath ? "an " : "", range);
  }
  return "";
}

Result<SettingValue> convert(const Setting& s, const RawValue& raw) {
  if (raw.other) return Error{Errc::kParse, expected(s)};
  if (const auto* flag = std::get_if<bool>(&raw.value)) {
    if (s.type == SettingType::kBool) return SettingValue{*flag};
    return Error{Errc::kParse, expected(s)};
  }
  if (const auto* n = std::get_if<std::int64_t>(&raw.value)) {
    if (s.type == SettingType::kInteger || s.type == SettingType::kOptionalInteger) {
      return bounded(s, *n);
    }
    return Error{Errc::kParse, expected(s)};
  }
  return convert_string(s, std::get<std::string>(raw.value));
}

Result<SettingValue> convert_text(const Setting& s, std::string_view text) {
  if (s.type == SettingType::kBool) {
    if (text == "true") return SettingValue{true};
    if (text == "false") return SettingValue{false};
    return Error{Errc::kParse, expected(s)};
  }
  const bool integer = s.type == SettingType::kInteger || s.type == SettingType::kOptionalInteger;
  if (integer && text != "none") return bounded(s, parse_i64(text));
  return convert_string(s, std::string{text});
}

std::string format_value(const Setting& s, const SettingValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* words = std::get_if<std::string>(&value)) return *words;
  const auto* n = std::get_if<std::int64_t>(&value);
  if (n == nullptr) return "none";
  if (s.type == SettingType::kDuration) return format_duration_ms(*n);
  if (s.type == SettingType::kSize) return format_size(*n);
  return std::to_string(*n);
}

std::string toml_literal(const Setting& s, const SettingValue& value) {
  const std::string plain = format_value(s, value);
  const bool bare = s.type == SettingType::kBool ||
                    (std::holds_alternative<std::int64_t>(value) &&
                     s.type != SettingType::kDuration && s.type != SettingType::kSize);
  if (bare) return plain;
  std::string out = "\"";
  for (const char c : plain) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

}  // namespace koordlet::app
