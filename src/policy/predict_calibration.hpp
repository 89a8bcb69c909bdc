#pragma once

#include <array>
#include <cstddef>
#include <optional>

namespace koordlet::policy {

/// How far a rule was off, as a fading distribution of realised peak / forecast: its quantile is
/// the factor that makes the rule cover that share of peaks. Buckets are 2.5 % wide near 1 and grow
/// outward; ratios beyond e^-7 and e^7 count as the outermost.
class RatioHistogram {
 public:
  static constexpr std::size_t kBuckets = 96;

  /// `fade` (0..1]: what all earlier ratios count for from now on. Both numbers above 0.
  void add(double realised, double forecast, double fade);
  /// Factor for the share `tau`, 0..1, from `windows` windows that do not overlap (>= 1): of so
  /// few, the rank is tau (1 + 1 / windows), as in conformal prediction; past the largest ratio
  /// seen it is that one. The upper end of the bucket. nullopt: nothing seen.
  std::optional<double> factor(double tau, double windows) const;
  double total() const { return total_; }

  const std::array<float, kBuckets>& weights() const { return weights_; }
  /// False, and no change: a weight that is negative or no number.
  bool load(const std::array<float, kBuckets>& weights);

 private:
  std::array<float, kBuckets> weights_{};
  float total_ = 0;
};

}  // namespace koordlet::policy
