#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/clock.hpp"
#include "base/units.hpp"

namespace koordlet {

/// One reading of a monotonic counter of CPU time.
struct CpuReading {
  MonoTime at;
  std::chrono::nanoseconds usage{0};
};

/// Turns readings into rates. The first reading, a counter that went back and a time that did not
/// move give no rate and become the new base; so does a rate above `ceiling`, which no machine can
/// run (reference metrics 1.3 and 10.1).
class CpuRate {
 public:
  std::optional<MilliCpu> update(const CpuReading& reading, MilliCpu ceiling);
  /// Rate since the base without moving it; nullopt as above.
  std::optional<MilliCpu> since_base(const CpuReading& reading, MilliCpu ceiling) const;
  const std::optional<CpuReading>& base() const { return base_; }

 private:
  std::optional<CpuReading> base_;
};

/// Throttled share of the periods between two readings: nr_throttled / nr_periods in permille, 0
/// when no period passed. The first reading and counters that went back give nothing.
class ThrottleRate {
 public:
  std::optional<Permille> update(std::uint64_t periods, std::uint64_t throttled);

 private:
  struct Base {
    std::uint64_t periods, throttled;
  };
  std::optional<Base> base_;
};

}  // namespace koordlet
