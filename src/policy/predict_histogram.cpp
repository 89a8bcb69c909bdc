#include "policy/predict_histogram.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace koordlet::policy {
namespace {

// Below it a bucket counts as empty: a thousandth of the least weight of a sample, 0.1.
constexpr double kEpsilon = 0.0001;
constexpr double kHeaviest = 10000;
// References are multiples of the half-life counted from the first day of the year 1.
constexpr std::int64_t kYearOne = -62135596800;
// Weights grow by 2 each half-life; after so many of them they are scaled back.
constexpr int kMostHalfLives = 100;

}  // namespace

int BucketScheme::count() const {
  if (ratio == 1) return static_cast<int>(std::ceil(max / first)) + 1;
  return static_cast<int>(std::ceil(std::log(max * (ratio - 1) / first + 1) / std::log(ratio))) + 1;
}

double BucketScheme::start(int bucket) const {
  if (ratio == 1) return first * bucket;
  return first * (std::pow(ratio, bucket) - 1) / (ratio - 1);
}

int BucketScheme::bucket_of(double value) const {
  const int last = count() - 1;
  if (value < first) return 0;
  if (value >= start(last)) return last;
  const double b =
      ratio == 1 ? value / first : std::log(value * (ratio - 1) / first + 1) / std::log(ratio);
  return std::min(static_cast<int>(b), last);
}

DecayingHistogram::DecayingHistogram(BucketScheme scheme, std::chrono::seconds half_life)
    : scheme_{scheme},
      half_life_{half_life},
      reference_{kYearOne},
      weights_(static_cast<std::size_t>(scheme.count()), 0.0) {}

void DecayingHistogram::rebase(PredictTime at) {
  const std::int64_t h = half_life_.count();
  const std::int64_t since = at.count() - kYearOne;
  const PredictTime next{kYearOne + (2 * since + h) / (2 * h) * h};
  const double scale = std::exp2(
      std::round(static_cast<double>((reference_ - next).count()) / static_cast<double>(h)));
  for (auto& w : weights_) w *= scale;
  total_ *= scale;
  reference_ = next;
}

void DecayingHistogram::add(PredictTime at, double value, double weight) {
  if (!std::isfinite(value) || value < 0 || !(weight > 0)) return;
  if (at > reference_ + kMostHalfLives * half_life_) rebase(at);
  const double age = static_cast<double>((at - reference_).count());
  const double decayed = weight * std::exp2(age / static_cast<double>(half_life_.count()));
  weights_[static_cast<std::size_t>(scheme_.bucket_of(value))] += decayed;
  total_ += decayed;
}

bool DecayingHistogram::empty() const {
  return std::none_of(weights_.begin(), weights_.end(), [](double w) { return w >= kEpsilon; });
}

double DecayingHistogram::percentile(double p) const {
  const auto full = [](double w) { return w >= kEpsilon; };
  const auto first = std::find_if(weights_.begin(), weights_.end(), full);
  if (first == weights_.end()) return 0;
  const auto last = std::find_if(weights_.rbegin(), weights_.rend(), full).base() - 1;
  double sum = 0;
  auto at = first;
  for (; at != last; ++at) {
    sum += *at;
    if (sum >= p * total_) break;
  }
  const int bucket = static_cast<int>(at - weights_.begin());
  return scheme_.start(bucket + 1 < scheme_.count() ? bucket + 1 : bucket);
}

SavedHistogram DecayingHistogram::save() const {
  SavedHistogram out{reference_.count(), {}, total_};
  const double heaviest = *std::max_element(weights_.begin(), weights_.end());
  if (heaviest <= 0) return out;
  for (std::size_t b = 0; b < weights_.size(); ++b) {
    const auto w = static_cast<std::uint32_t>(std::floor(weights_[b] * kHeaviest / heaviest + 0.5));
    if (w > 0) out.weights[static_cast<int>(b)] = w;
  }
  return out;
}

Result<void> DecayingHistogram::load(const SavedHistogram& saved) {
  double sum = 0;
  for (const auto& [bucket, weight] : saved.weights) {
    if (bucket < 0 || bucket >= scheme_.count() || weight == 0 || weight > kHeaviest) {
      return Error{Errc::kParse,
                   fmt::format("bucket {}: weight {}: expected a bucket below {} and a weight of 1 "
                               "to 10000",
                               bucket,
                               weight,
                               scheme_.count())};
    }
    sum += weight;
  }
  const bool sound =
      std::isfinite(saved.total) && (saved.weights.empty() ? saved.total == 0 : saved.total > 0);
  if (!sound || saved.reference_s < kYearOne) {
    return Error{Errc::kParse,
                 fmt::format("total weight {}: expected that of the buckets", saved.total)};
  }
  std::fill(weights_.begin(), weights_.end(), 0.0);
  for (const auto& [bucket, weight] : saved.weights)
    weights_[static_cast<std::size_t>(bucket)] = weight * saved.total / sum;
  total_ = saved.total;
  reference_ = PredictTime{saved.reference_s};
  return {};
}

Result<void> DecayingHistogram::load(PredictTime reference, const std::vector<double>& weights) {
  double sum = 0;
  for (const double w : weights) sum += w;
  const bool sound = weights.size() == weights_.size() && std::isfinite(sum) &&
                     std::all_of(weights.begin(), weights.end(), [](double w) { return w >= 0; });
  if (!sound || reference.count() < kYearOne) {
    return Error{Errc::kParse,
                 fmt::format("{} weights, {} in sum: expected {} that are not negative",
                             weights.size(),
                             sum,
                             weights_.size())};
  }
  weights_ = weights;
  total_ = sum;
  reference_ = reference;
  return {};
}

}  // namespace koordlet::policy
