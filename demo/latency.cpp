#include "latency.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace koordlet::demo {

std::size_t Latency::bucket(std::int64_t us) {
  const auto v = static_cast<std::uint64_t>(std::max<std::int64_t>(us, 0));
  if (v < 16) return v;
  const auto octave = static_cast<std::size_t>(std::bit_width(v)) - 5;  // 16..31 is octave 0
  return std::min(kBuckets - 1, (octave + 1) * 16 + ((v >> octave) - 16));
}

std::int64_t Latency::upper_us(std::size_t bucket) {
  if (bucket < 16) return static_cast<std::int64_t>(bucket);
  const auto octave = bucket / 16 - 1;
  return static_cast<std::int64_t>(((bucket % 16) + 17) << octave) - 1;
}

Latency::Counts Latency::read() const {
  Counts out{};
  for (std::size_t i = 0; i < kBuckets; ++i) out[i] = counts_[i].load(std::memory_order_relaxed);
  return out;
}

std::optional<std::int64_t> Latency::quantile_us(const Counts& now,
                                                 const Counts& before,
                                                 double q) {
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) total += now[i] - before[i];
  if (total == 0) return std::nullopt;
  const auto rank = std::max<std::uint64_t>(
      1, static_cast<std::uint64_t>(std::ceil(q * static_cast<double>(total))));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    seen += now[i] - before[i];
    if (seen >= rank) return upper_us(i);
  }
  return upper_us(kBuckets - 1);
}

}  // namespace koordlet::demo
