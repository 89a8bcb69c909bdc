#pragma once

#include <cstdint>
#include <string_view>

namespace koordlet::store {

/// FNV-1a, 64 bits: finds rows that were damaged, and is no protection against anybody.
constexpr std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t h = 0xcbf29ce484222325ULL;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return h;
}

}  // namespace koordlet::store
