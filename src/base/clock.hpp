#pragma once

#include <chrono>

namespace koordlet {

/// Decisions use the monotonic clock only. It is CLOCK_MONOTONIC: it starts near boot and never
/// steps.
using MonoTime = std::chrono::steady_clock::time_point;
using WallTime = std::chrono::system_clock::time_point;

/// The one source of "now". Logic gets a MonoTime as a parameter; only shells and loops hold a
/// Clock.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual MonoTime now() const = 0;
  virtual WallTime wall() const = 0;  ///< for reported time stamps only
};

class SystemClock final : public Clock {
 public:
  MonoTime now() const override { return std::chrono::steady_clock::now(); }
  WallTime wall() const override { return std::chrono::system_clock::now(); }
};

}  // namespace koordlet
