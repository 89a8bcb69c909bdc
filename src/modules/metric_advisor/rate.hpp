#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/clock.hpp"
#include "base/units.hpp"
#include "kernel/io_counters.hpp"
#include "kernel/procfs.hpp"
#include "model/usage.hpp"

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
/// when no period passed. The first reading, counters that went back and a window with more
/// throttled periods than periods (counters that do not belong together) give nothing.
class ThrottleRate {
 public:
  std::optional<Permille> update(std::uint64_t periods, std::uint64_t throttled);

 private:
  struct Base {
    std::uint64_t periods, throttled;
  };
  std::optional<Base> base_;
};

/// Stall totals of one subject and resource at one time. PSI's own averages are 2 s old and cover
/// fixed windows; the difference of the totals is exact for ours (reference metrics 9.1).
struct StallTotals {
  std::chrono::microseconds some{0};
  std::optional<std::chrono::microseconds> full;
};

/// Turns stall totals into the share of the time between two readings. A first reading, totals that
/// went back and a time that did not move give nothing and become the new base.
class StallRate {
 public:
  std::optional<StallShare> update(MonoTime at, const StallTotals& totals);
  std::optional<StallShare> update(MonoTime at, const kernel::Psi& psi);

 private:
  struct Base {
    MonoTime at;
    StallTotals totals;
  };
  std::optional<Base> base_;
};

/// Block IO a second over all devices of a cgroup. A device that is new counts from zero, as the
/// kernel lists it with its first request; one whose counters went back counts nothing this time.
class IoUseRate {
 public:
  std::optional<IoRate> update(MonoTime at, const std::vector<kernel::IoCounters>& devices);

 private:
  std::optional<MonoTime> at_;
  std::map<kernel::DeviceNumber, kernel::IoCounters> base_;
};

/// What a counter grew by, a second; nullopt when it went back or the time did not move.
std::optional<std::int64_t> per_second(std::uint64_t before,
                                       std::uint64_t now,
                                       std::chrono::nanoseconds elapsed);

}  // namespace koordlet
