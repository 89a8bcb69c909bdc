#include "base/cpu_conversion.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace koordlet {
namespace {

constexpr std::int64_t kMinShares = 2, kMaxShares = 262'144;
constexpr std::int64_t kMinWeight = 1, kMaxWeight = 10'000;
constexpr std::int64_t kMinQuotaUs = 1000;

std::int64_t mul_div(std::int64_t a, std::int64_t b, std::int64_t c) {
  const auto wide = static_cast<__int128>(a) * b / c;
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  return wide > kMax ? kMax : static_cast<std::int64_t>(wide);
}

/// Where the curve meets a whole number (1024 shares: exactly 100), rounding errors must not lift
/// it to the next one.
std::int64_t log_weight(std::int64_t shares) {
  constexpr double kSlack = 1e-9;
  const double l = std::log2(static_cast<double>(shares));
  const double exponent = (l * l + 125.0 * l) / 612.0 - 7.0 / 34.0;
  return static_cast<std::int64_t>(std::ceil(std::pow(10.0, exponent) * (1.0 - kSlack)));
}

}  // namespace

std::int64_t shares_of(MilliCpu amount) {
  if (amount.v <= 0) return kMinShares;
  return std::clamp(mul_div(amount.v, 1024, 1000), kMinShares, kMaxShares);
}

Limit<std::chrono::microseconds> quota_of(MilliCpu amount, std::chrono::microseconds period) {
  if (amount.v <= 0) return Limit<std::chrono::microseconds>::unlimited();
  return Limit{
      std::chrono::microseconds{std::max(kMinQuotaUs, mul_div(amount.v, period.count(), 1000))}};
}

std::int64_t weight_of(std::int64_t shares, WeightRule rule) {
  shares = std::clamp(shares, kMinShares, kMaxShares);
  if (rule == WeightRule::kLinear) {
    return kMinWeight +
           (shares - kMinShares) * (kMaxWeight - kMinWeight) / (kMaxShares - kMinShares);
  }
  if (shares == kMinShares) return kMinWeight;
  if (shares == kMaxShares) return kMaxWeight;
  return std::clamp(log_weight(shares), kMinWeight, kMaxWeight);
}

std::int64_t shares_of_weight(std::int64_t weight, WeightRule rule) {
  weight = std::clamp(weight, kMinWeight, kMaxWeight);
  if (rule == WeightRule::kLinear) {
    return (weight - kMinWeight) * (kMaxShares - kMinShares) / (kMaxWeight - kMinWeight) +
           kMinShares;
  }
  auto low = kMinShares, high = kMaxShares;
  while (low < high) {
    const auto middle = low + (high - low) / 2;
    if (weight_of(middle, rule) >= weight) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

std::optional<WeightRule> detect_weight_rule(std::int64_t shares, std::int64_t weight) {
  const bool linear = weight_of(shares, WeightRule::kLinear) == weight;
  const bool log = weight_of(shares, WeightRule::kLog) == weight;
  if (linear == log) return std::nullopt;
  return linear ? WeightRule::kLinear : WeightRule::kLog;
}

}  // namespace koordlet
