#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace koordlet::store {

/// DDSketch (Masson, Rim, Lee, VLDB 2019, section 2): counts of values in bins whose borders grow
/// by gamma = (1 + a) / (1 - a), so that the middle of a bin is within the share a of every value
/// in it. Sketches merge by adding their bins: a merged one says what one of all values would.
///
/// a = 0.0099, so that the arithmetic of doubles stays inside 1 %. Negative values have bins of
/// their own, mirrored; 0 is counted apart. All 64-bit values have kMaxBins bins, 35 kB: none ever
/// has to be given up.
class QuantileSketch {
 public:
  static constexpr double kAccuracy = 0.0099;
  /// The bin of 2^63: ceil(ln(2^63) / ln(gamma)) + 1.
  static constexpr std::int32_t kHighestBin = 2207;
  static constexpr std::size_t kMaxBins = 2 * kHighestBin + 1;

  void add(std::int64_t value, std::uint64_t times = 1);
  void merge(const QuantileSketch& other);
  std::uint64_t count() const { return count_; }
  /// The value at the nearest rank (index ceil(count * q) - 1), within 1 %. `q` 0 to 1; count() >
  /// 0.
  double quantile(double q) const;
  std::size_t bins() const;  ///< that hold values

  /// Bytes of one sketch, appended (docs/metric-store.md).
  void append_to(std::string& out) const;
  /// Adds a stored sketch, taken from the front of `bytes`. False: damaged; what was read before
  /// the damage may have been added.
  bool merge_from(std::string_view& bytes);
  /// Takes one from the front unread.
  static bool skip(std::string_view& bytes);

  /// Number of the bin: above 0 for positive values, below 0 for negative ones, 0 for 0; the same
  /// order as the values.
  static std::int32_t bin_of(std::int64_t value);
  static double value_of(std::int32_t bin);

 private:
  void add_bin(std::int32_t bin, std::uint64_t times);
  std::int32_t first_ = 0;  // bin of counts_[0]
  std::vector<std::uint64_t> counts_;
  std::uint64_t count_ = 0;
};

}  // namespace koordlet::store
