#pragma once

#include "base/clock.hpp"

namespace koordlet::test {

/// A clock that moves only when told.
class ManualClock final : public Clock {
 public:
  MonoTime now() const override { return mono_; }
  WallTime wall() const override { return wall_; }
  void advance(std::chrono::nanoseconds by) {
    mono_ += std::chrono::duration_cast<MonoTime::duration>(by);
    wall_ += std::chrono::duration_cast<WallTime::duration>(by);
  }
  void step_wall(std::chrono::nanoseconds by) {
    wall_ += std::chrono::duration_cast<WallTime::duration>(by);
  }

 private:
  MonoTime mono_{std::chrono::seconds{1000}};
  WallTime wall_{std::chrono::seconds{1'700'000'000}};
};

}  // namespace koordlet::test
