#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "store/metric_store.hpp"

namespace koordlet::store {

/// Keys of the time-ordered databases, big endian, so that LMDB's order is that of time.
using TimeKey = std::array<char, 8>;   ///< a row: its time
using SealKey = std::array<char, 12>;  ///< a part of a seal: its time, then the first series id

/// The head of a seal stands where no series is: behind its groups.
constexpr std::uint32_t kHeadId = UINT32_MAX;

inline TimeKey encode_time(StoredTime t) {
  const auto v = static_cast<std::uint64_t>(t.count());
  TimeKey out{};
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<char>(v >> (56 - 8 * i));
  return out;
}

inline std::optional<StoredTime> decode_time(std::string_view key) {
  if (key.size() != TimeKey{}.size()) return std::nullopt;
  std::uint64_t v = 0;
  for (const char c : key) v = v << 8 | static_cast<unsigned char>(c);
  return StoredTime{static_cast<std::int64_t>(v)};
}

struct SealPart {
  StoredTime at{0};
  std::uint32_t id = 0;
};

inline SealKey encode_seal_key(SealPart part) {
  const auto time = encode_time(part.at);
  SealKey out{};
  for (std::size_t i = 0; i < time.size(); ++i) out[i] = time[i];
  for (std::size_t i = 0; i < 4; ++i) out[8 + i] = static_cast<char>(part.id >> (24 - 8 * i));
  return out;
}

inline std::optional<SealPart> decode_seal_key(std::string_view key) {
  if (key.size() != SealKey{}.size()) return std::nullopt;
  const auto at = decode_time(key.substr(0, TimeKey{}.size()));
  std::uint32_t id = 0;
  for (const char c : key.substr(TimeKey{}.size())) id = id << 8 | static_cast<unsigned char>(c);
  return SealPart{*at, id};
}

}  // namespace koordlet::store
