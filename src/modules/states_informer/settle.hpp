#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "base/clock.hpp"

namespace koordlet::states {

/// Quiet time after a burst of events: due once nothing has happened for `quiet`, and at the latest
/// kMaxWaits times that after the first event, so that a file which never rests is read as well.
class Settle {
 public:
  static constexpr int kMaxWaits = 20;
  explicit Settle(std::chrono::milliseconds quiet) : quiet_{quiet} {}

  void on_event(MonoTime now) {
    if (!first_) first_ = now;
    due_ = std::min(now + quiet_, *first_ + kMaxWaits * quiet_);
  }
  /// Due at once, whatever comes.
  void force(MonoTime now) {
    first_ = now;
    due_ = now;
  }
  std::optional<MonoTime> due() const { return due_; }
  /// True once when due; the next event starts a new burst.
  bool take(MonoTime now) {
    if (!due_ || now < *due_) return false;
    due_.reset();
    first_.reset();
    return true;
  }

 private:
  std::chrono::milliseconds quiet_;
  std::optional<MonoTime> first_;
  std::optional<MonoTime> due_;
};

}  // namespace koordlet::states
