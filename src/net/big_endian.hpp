#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace koordlet::net {

inline void append_u32(std::string& out, std::uint32_t value) {
  for (const int shift : {24, 16, 8, 0}) out += static_cast<char>(value >> shift & 0xff);
}
/// `bytes` has at least `at` + 4 of them.
inline std::uint32_t read_u32(std::string_view bytes, std::size_t at) {
  std::uint32_t out = 0;
  for (std::size_t i = 0; i < 4; ++i) out = out << 8 | static_cast<unsigned char>(bytes[at + i]);
  return out;
}

}  // namespace koordlet::net
