#include "policy/predict_calibration.hpp"

#include <algorithm>
#include <cmath>

namespace koordlet::policy {
namespace {

// index = kBuckets / 2 + kScale asinh(ln ratio / kKnee): linear in the logarithm up to about
// +-35 %, logarithmic in it beyond.
constexpr double kKnee = 0.3;
constexpr double kScale = 12;
// What faded below it is forgotten.
constexpr float kGone = 0.02F;

constexpr double kMiddle = static_cast<double>(RatioHistogram::kBuckets) / 2;

std::size_t bucket_of(double ratio) {
  const double at = kMiddle + kScale * std::asinh(std::log(ratio) / kKnee);
  return static_cast<std::size_t>(
      std::clamp(std::floor(at), 0.0, static_cast<double>(RatioHistogram::kBuckets - 1)));
}

double upper_end(std::size_t bucket) {
  return std::exp(kKnee * std::sinh((static_cast<double>(bucket) + 1 - kMiddle) / kScale));
}

}  // namespace

void RatioHistogram::add(double realised, double forecast, double fade) {
  if (!(realised > 0) || !(forecast > 0)) return;
  for (auto& w : weights_) {
    w *= static_cast<float>(fade);
    if (w < kGone) w = 0;
  }
  weights_[bucket_of(realised / forecast)] += 1;
  total_ = 0;
  for (const float w : weights_) total_ += w;
}

std::optional<double> RatioHistogram::factor(double tau, double windows) const {
  if (total_ <= 0) return std::nullopt;
  const double rank = tau * (1 + 1 / std::max(1.0, windows)) * total_;
  double sum = 0;
  std::size_t last = 0;
  for (std::size_t b = 0; b < kBuckets; ++b) {
    if (weights_[b] <= 0) continue;
    last = b;
    sum += weights_[b];
    if (sum >= rank) break;
  }
  return upper_end(last);
}

bool RatioHistogram::load(const std::array<float, kBuckets>& weights) {
  float total = 0;
  for (const float w : weights) {
    if (!std::isfinite(w) || w < 0) return false;
    total += w;
  }
  if (!std::isfinite(total)) return false;
  weights_ = weights;
  total_ = total;
  return true;
}

}  // namespace koordlet::policy
