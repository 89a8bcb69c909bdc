#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "store/window.hpp"

namespace koordlet {

/// The last values of one duration, for its percentiles.
class Recent {
 public:
  static constexpr std::size_t kKept = 512;
  struct Percentiles {
    std::size_t count = 0;  ///< 0: nothing yet, and the rest means nothing
    std::chrono::milliseconds last{0}, p50{0}, p99{0}, max{0};
  };

  void add(std::chrono::milliseconds value) {
    if (values_.size() < kKept) {
      values_.push_back(value.count());
    } else {
      values_[next_] = value.count();
    }
    last_ = value;
    next_ = (next_ + 1) % kKept;
  }
  Percentiles percentiles() const {
    if (values_.empty()) return {};
    auto values = values_;
    Percentiles out;
    out.count = values.size();
    out.last = last_;
    out.p50 = std::chrono::milliseconds{store::nearest_rank(values, 50)};
    out.p99 = std::chrono::milliseconds{store::nearest_rank(values, 99)};
    out.max = std::chrono::milliseconds{store::nearest_rank(values, 100)};
    return out;
  }

 private:
  std::vector<std::int64_t> values_;
  std::size_t next_ = 0;
  std::chrono::milliseconds last_{0};
};

}  // namespace koordlet
