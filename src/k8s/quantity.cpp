#include "k8s/quantity.hpp"

#include <limits>
#include <optional>

#include <fmt/format.h>

namespace koordlet::k8s {
namespace {

// Longer texts are no quantity anybody writes; the bound keeps the digit arithmetic small.
constexpr std::size_t kMaxText = 128;
// Beyond this no value but zero is inside int64, nor above one unit: 10^400 dwarfs any mantissa.
constexpr int kMaxExponent = 400;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// mantissa x 10^exponent x 1024^binary
struct Parts {
  bool negative = false;
  std::string digits;  // without leading zeros; empty is zero
  int exponent = 0;
  int binary = 0;
};

std::string cut(std::string_view text) {
  constexpr std::size_t kShown = 40;
  return fmt::format("'{}{}'", text.substr(0, kShown), text.size() > kShown ? "..." : "");
}

Error not_a_quantity(std::string_view text) {
  return Error{Errc::kParse,
               fmt::format("expected a quantity like 1500m or 2Gi, got {}", cut(text))};
}

/// "e3", "E-3"; nullopt when it is not an exponent. Clamped to just beyond kMaxExponent.
std::optional<int> parse_exponent(std::string_view suffix) {
  if (suffix.size() < 2 || (suffix[0] != 'e' && suffix[0] != 'E')) return std::nullopt;
  suffix.remove_prefix(1);
  const bool negative = suffix[0] == '-';
  if (suffix[0] == '-' || suffix[0] == '+') suffix.remove_prefix(1);
  if (suffix.empty()) return std::nullopt;
  int value = 0;
  for (const char c : suffix) {
    if (!is_digit(c)) return std::nullopt;
    if (value <= kMaxExponent) value = value * 10 + (c - '0');
  }
  return negative ? -value : value;
}

bool apply_suffix(std::string_view suffix, Parts& parts) {
  struct Decimal {
    char name;
    int exponent;
  };
  constexpr Decimal kDecimals[] = {{'n', -9},
                                   {'u', -6},
                                   {'m', -3},
                                   {'k', 3},
                                   {'M', 6},
                                   {'G', 9},
                                   {'T', 12},
                                   {'P', 15},
                                   {'E', 18}};
  if (suffix.empty()) return true;
  if (suffix.size() == 1) {
    for (const auto& d : kDecimals) {
      if (d.name != suffix[0]) continue;
      parts.exponent += d.exponent;
      return true;
    }
    return false;
  }
  if (suffix.size() == 2 && suffix[1] == 'i') {
    const auto power = std::string_view{"KMGTPE"}.find(suffix[0]);
    if (power == std::string_view::npos) return false;
    parts.binary = static_cast<int>(power) + 1;
    return true;
  }
  const auto exponent = parse_exponent(suffix);
  if (!exponent) return false;
  parts.exponent += *exponent;
  return true;
}

Result<Parts> split(std::string_view text) {
  if (text.empty() || text.size() > kMaxText) return not_a_quantity(text);
  Parts parts;
  std::string_view rest = text;
  parts.negative = rest[0] == '-';
  if (rest[0] == '-' || rest[0] == '+') rest.remove_prefix(1);
  bool any = false;
  bool fraction = false;
  while (!rest.empty() && (is_digit(rest[0]) || (rest[0] == '.' && !fraction))) {
    if (rest[0] == '.') {
      fraction = true;
    } else {
      any = true;
      if (fraction) --parts.exponent;
      if (rest[0] != '0' || !parts.digits.empty()) parts.digits += rest[0];
    }
    rest.remove_prefix(1);
  }
  if (!any || !apply_suffix(rest, parts)) return not_a_quantity(text);
  return parts;
}

void multiply(std::string& digits, unsigned factor) {
  unsigned carry = 0;
  for (auto d = digits.rbegin(); d != digits.rend(); ++d) {
    const unsigned product = static_cast<unsigned>(*d - '0') * factor + carry;
    *d = static_cast<char>('0' + product % 10);
    carry = product / 10;
  }
  if (carry != 0) digits.insert(0, std::to_string(carry));
}

/// The value in units of 10^-scale, rounded away from zero as Kubernetes does. Exact: digits only.
Result<std::int64_t> read(std::string_view text, int scale) {
  auto split_text = split(text);
  if (!split_text) return split_text.error();
  Parts& p = *split_text;
  if (p.digits.empty()) return 0;
  for (int i = 0; i < p.binary; ++i) multiply(p.digits, 1024);

  const int shift = p.exponent + scale;
  const auto out_of_range = [text] {
    return Error{Errc::kRange, fmt::format("{}: out of range", cut(text))};
  };
  bool round_up = false;
  if (shift >= 0) {
    if (shift > 20) return out_of_range();
    p.digits.append(static_cast<std::size_t>(shift), '0');
  } else {
    const auto drop = static_cast<std::size_t>(-shift);
    const std::size_t keep = p.digits.size() > drop ? p.digits.size() - drop : 0;
    round_up = p.digits.find_first_not_of('0', keep) != std::string::npos;
    p.digits.resize(keep);
  }
  constexpr auto kMax = static_cast<unsigned __int128>(std::numeric_limits<std::int64_t>::max());
  unsigned __int128 magnitude = 0;
  for (const char c : p.digits) {
    magnitude = magnitude * 10 + static_cast<unsigned>(c - '0');
    if (magnitude > kMax) return out_of_range();
  }
  if (round_up) ++magnitude;
  if (magnitude > kMax) return out_of_range();
  const auto value = static_cast<std::int64_t>(magnitude);
  return p.negative ? -value : value;
}

/// Whole factors of 1000 as a suffix: 1000 -> "1k".
std::string format_decimal(std::int64_t v) {
  constexpr std::string_view kSuffixes = "kMGTPE";
  std::size_t power = 0;
  while (v != 0 && v % 1000 == 0 && power < kSuffixes.size()) {
    v /= 1000;
    ++power;
  }
  return power == 0 ? fmt::format("{}", v) : fmt::format("{}{}", v, kSuffixes[power - 1]);
}

}  // namespace

Result<MilliCpu> parse_cpu(std::string_view text) {
  const auto v = read(text, 3);
  if (!v) return v.error();
  return MilliCpu{*v};
}

Result<std::int64_t> parse_integer(std::string_view text) { return read(text, 0); }

Result<Bytes> parse_memory(std::string_view text) {
  const auto v = read(text, 0);
  if (!v) return v.error();
  return Bytes{*v};
}

std::string format_cpu(MilliCpu v) {
  return v.v % 1000 == 0 ? format_decimal(v.v / 1000) : fmt::format("{}m", v.v);
}

std::string format_memory(Bytes v) {
  constexpr std::string_view kSuffixes = "KMGTPE";
  std::int64_t n = v.v;
  if (n > -1024 && n < 1024) return format_decimal(n);
  std::size_t power = 0;
  while (n % 1024 == 0 && power < kSuffixes.size()) {
    n /= 1024;
    ++power;
  }
  return power == 0 ? fmt::format("{}", n) : fmt::format("{}{}i", n, kSuffixes[power - 1]);
}

}  // namespace koordlet::k8s
