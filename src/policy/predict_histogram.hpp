#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <vector>

#include "base/result.hpp"

/// Peak prediction (reference metrics 5): pure rules, no clock, no I/O.
namespace koordlet::policy {

/// Seconds since 1970-01-01 UTC.
using PredictTime = std::chrono::seconds;

/// Buckets that grow by `ratio`: start(b) = first (ratio^b - 1) / (ratio - 1). Ratio 1: all as wide
/// as the first.
struct BucketScheme {
  double first = 0.025;
  double ratio = 1.05;
  double max = 1024;  ///< larger values fall into the last bucket
  int count() const;
  double start(int bucket) const;
  int bucket_of(double value) const;
  friend bool operator==(const BucketScheme&, const BucketScheme&) = default;
};
/// Cores: 25 m up to 1024 cores, 158 buckets. Bytes: 5 MiB up to 2^41, 205 buckets. The VPA's step
/// of 5 %; a maximum of 2^31 once kept memory peaks at 2 GiB (pitfall 149).
inline constexpr BucketScheme kCpuBuckets{0.025, 1.05, 1024};
inline constexpr BucketScheme kMemoryBuckets{5242880, 1.05, 2199023255552.0};

/// What a checkpoint keeps: weights as whole numbers, 10000 for the heaviest bucket.
struct SavedHistogram {
  std::int64_t reference_s = 0;
  std::map<int, std::uint32_t> weights;
  double total = 0;
  friend bool operator==(const SavedHistogram&, const SavedHistogram&) = default;
};

/// A sample's weight halves each `half_life`. Percentiles are bucket ends: up to 5 % too high,
/// never too low.
class DecayingHistogram {
 public:
  DecayingHistogram(BucketScheme scheme, std::chrono::seconds half_life);

  /// Ignored: a value below 0 or no number, a weight not above 0.
  void add(PredictTime at, double value, double weight = 1);
  /// 0 when empty. p in 0..1.
  double percentile(double p) const;
  bool empty() const;
  double total() const { return total_; }
  double weight(int bucket) const { return weights_[static_cast<std::size_t>(bucket)]; }
  PredictTime reference() const { return reference_; }
  std::size_t bytes() const { return sizeof *this + weights_.capacity() * sizeof(double); }

  SavedHistogram save() const;
  /// kParse: a bucket that does not exist, a weight above 10000 or 0, no heaviest bucket, a total
  /// that is no positive number. The histogram is unchanged then.
  Result<void> load(const SavedHistogram& saved);
  const std::vector<double>& weights() const { return weights_; }  ///< by bucket
  /// The weights as they were, to the last bit, where a saved one is rounded. kParse, and no
  /// change: another number of buckets, a weight that is negative or no number.
  Result<void> load(PredictTime reference, const std::vector<double>& weights);

 private:
  void rebase(PredictTime at);

  BucketScheme scheme_;
  std::chrono::seconds half_life_;
  PredictTime reference_;  ///< a sample of this time weighs what it was given
  std::vector<double> weights_;
  double total_ = 0;
};

}  // namespace koordlet::policy
