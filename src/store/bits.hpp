#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace koordlet::store {

static_assert(std::endian::native == std::endian::little, "stored numbers are little endian");

/// Small numbers of either sign as small ones without: 0, -1, 1, -2 ... as 0, 1, 2, 3 ...
constexpr std::uint64_t zigzag(std::int64_t v) {
  return static_cast<std::uint64_t>(v) << 1 ^ static_cast<std::uint64_t>(v >> 63);
}
constexpr std::int64_t unzigzag(std::uint64_t v) {
  return static_cast<std::int64_t>(v >> 1 ^ (~(v & 1) + 1));
}

/// LEB128: 7 bits a byte, low bits first; at most 10 bytes.
inline char* put_varint(char* to, std::uint64_t v) {
  for (; v >= 0x80; v >>= 7) *to++ = static_cast<char>(v | 0x80);
  *to++ = static_cast<char>(v);
  return to;
}
inline void put_varint(std::string& out, std::uint64_t v) {
  for (; v >= 0x80; v >>= 7) out += static_cast<char>(v | 0x80);
  out += static_cast<char>(v);
}

/// Takes one from the front. False: cut off or longer than 64 bits.
inline bool get_varint(std::string_view& from, std::uint64_t& v) {
  v = 0;
  for (unsigned shift = 0; shift < 64 && shift / 7 < from.size(); shift += 7) {
    const auto byte = static_cast<unsigned char>(from[shift / 7]);
    if (shift == 63 && byte > 1) return false;
    v |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) {
      from.remove_prefix(shift / 7 + 1);
      return true;
    }
  }
  return false;
}

}  // namespace koordlet::store
