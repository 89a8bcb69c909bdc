#pragma once

#include <chrono>
#include <cstdint>
#include <random>

namespace koordlet {

/// Exponential back-off with full jitter: the n-th delay is anywhere in 0..min(max, min * 2^(n-1)),
/// so that a thousand nodes do not come back to a restarted server in step.
class Backoff {
 public:
  Backoff(std::chrono::milliseconds min, std::chrono::milliseconds max, std::uint64_t seed)
      : min_{min}, max_{max}, random_{seed} {}

  std::chrono::milliseconds next();
  void reset() { bound_ = std::chrono::milliseconds{0}; }
  /// Anywhere in low..high.
  std::int64_t between(std::int64_t low, std::int64_t high);
  std::chrono::milliseconds bound() const { return bound_; }  ///< of the last delay

 private:
  std::chrono::milliseconds min_, max_;
  std::chrono::milliseconds bound_{0};
  std::mt19937_64 random_;
};

}  // namespace koordlet
