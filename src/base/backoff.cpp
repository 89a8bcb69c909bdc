#include "base/backoff.hpp"

#include <algorithm>

namespace koordlet {

std::chrono::milliseconds Backoff::next() {
  bound_ = bound_.count() <= 0 ? std::min(min_, max_) : std::min(bound_ * 2, max_);
  return std::chrono::milliseconds{between(0, bound_.count())};
}

std::int64_t Backoff::between(std::int64_t low, std::int64_t high) {
  if (high <= low) return low;
  return std::uniform_int_distribution<std::int64_t>{low, high}(random_);
}

}  // namespace koordlet
