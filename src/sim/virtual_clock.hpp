#pragma once

#include "base/clock.hpp"

namespace koordlet::sim {

/// A clock that moves only when told. Time 0 of a simulation is kStart, so that "never"
/// (MonoTime{}) stays apart from "at the beginning".
class VirtualClock final : public Clock {
 public:
  static constexpr MonoTime kStart{std::chrono::hours{1}};

  MonoTime now() const override { return kStart + elapsed_; }
  /// 2023-11-14T22:13:20Z plus the simulated time: reports are the same in every run.
  WallTime wall() const override {
    return WallTime{std::chrono::seconds{1'700'000'000}} + elapsed_;
  }
  void set(std::chrono::milliseconds elapsed) { elapsed_ = elapsed; }

 private:
  std::chrono::milliseconds elapsed_{0};
};

}  // namespace koordlet::sim
