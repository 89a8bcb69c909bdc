#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace koordlet::demo {

/// Microsecond histogram with 16 steps an octave (6 % wide at most), in memory that processes
/// share.
class Latency {
 public:
  static constexpr std::size_t kBuckets = 16 * 24;
  using Counts = std::array<std::uint64_t, kBuckets>;

  void record(std::int64_t us) { counts_[bucket(us)].fetch_add(1, std::memory_order_relaxed); }
  Counts read() const;
  /// Upper end of the bucket that holds the nearest-rank quantile of `now - before`; nullopt
  /// without samples.
  static std::optional<std::int64_t> quantile_us(const Counts& now, const Counts& before, double q);

 private:
  static std::size_t bucket(std::int64_t us);
  static std::int64_t upper_us(std::size_t bucket);
  std::array<std::atomic<std::uint64_t>, kBuckets> counts_{};
};

}  // namespace koordlet::demo
