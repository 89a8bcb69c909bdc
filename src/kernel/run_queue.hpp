#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>

namespace koordlet::kernel {

/// Waits between "runnable" and "running" as log2 histogram of microseconds: slot 0 holds waits
/// below 1 us, slot n (n >= 1) waits of [2^(n-1), 2^n) us, the last one all that are longer.
inline constexpr std::size_t kLatencySlots = 26;
using LatencySlots = std::array<std::uint64_t, kLatencySlots>;

/// What the tasks of one cgroup waited for a CPU, summed since some start. Only differences of two
/// readings mean anything; a counter that went back starts anew.
struct RunQueueCounters {
  std::chrono::nanoseconds wait{0};             ///< runnable, but not running
  std::uint64_t dispatches = 0;                 ///< times a task got a CPU after a wait
  std::optional<std::chrono::nanoseconds> run;  ///< on a CPU; nullopt: this source does not know
  std::optional<LatencySlots> slots;            ///< nullopt: this source has no distribution
  /// Part of `wait` in which a best-effort task had the CPU; nullopt: this source does not know.
  std::optional<std::chrono::nanoseconds> behind_best_effort;
};

/// The value below which a share `q` (0..1] of the waits lies, linear inside its slot (reference
/// metrics 7: start + width x rank / count); nullopt without waits and for any other `q`. The last
/// slot has no end: its start is given.
std::optional<std::chrono::nanoseconds> quantile(const LatencySlots& slots, double q);

}  // namespace koordlet::kernel
