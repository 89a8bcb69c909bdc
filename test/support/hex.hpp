#pragma once

#include <cctype>
#include <string>
#include <string_view>

namespace koordlet::test {

/// "0a 0c" as two bytes; blanks and '|' mean nothing.
inline std::string from_hex(std::string_view text) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string out;
  int high = -1;
  for (const char c : text) {
    if (std::isxdigit(static_cast<unsigned char>(c)) == 0) continue;
    if (high >= 0) out += static_cast<char>(high * 16 + digit(c));
    high = high >= 0 ? -1 : digit(c);
  }
  return out;
}

}  // namespace koordlet::test
