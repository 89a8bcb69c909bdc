#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace koordlet {

/// Text of the kernel and of config files: ASCII blanks are ' ', '\t', '\n', '\r'.
std::string_view trim(std::string_view text);

/// Whole-string integers, decimal, no blanks, no sign but a leading '-' for parse_i64. Overflow is
/// kRange, the rest kParse.
Result<std::int64_t> parse_i64(std::string_view text);
Result<std::uint64_t> parse_u64(std::string_view text);
/// Whole-string finite number, decimal or with an exponent; no blanks, no '+'. Beyond a double is
/// kRange, the rest kParse.
Result<double> parse_real(std::string_view text);

/// A length of time as people write it, in milliseconds: "90s", "1h30m", "7d", "250ms". Whole
/// numbers, each with a unit of d, h, m, s, ms. Never negative; overflow is kRange, the rest
/// kParse.
Result<std::int64_t> parse_span_ms(std::string_view text);

/// Cuts the next field off the front of `rest` (fields are separated by any run of blanks); nullopt
/// at the end.
std::optional<std::string_view> next_field(std::string_view& rest);

/// Cuts the next line (without '\n') off the front of `rest`; nullopt at the end. A last line
/// without '\n' counts.
std::optional<std::string_view> next_line(std::string_view& rest);

/// Outside text for a message: trimmed, cut to `max` bytes ("..." behind), and everything but
/// printable ASCII is '?'.
std::string printable(std::string_view text, std::size_t max);

}  // namespace koordlet
