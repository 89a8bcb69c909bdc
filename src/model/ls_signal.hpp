#pragma once

#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/units.hpp"

namespace koordlet {

/// How one latency-sensitive pod fared in its newest window, as far as the policy asks. nullopt: no
/// such signal here, which is not zero.
struct LsSignal {
  std::string uid;
  MonoTime at;                               ///< end of the window
  std::chrono::nanoseconds window{0};        ///< its length
  std::optional<double> cpu_full_percent;    ///< share of the window in which all its tasks waited
  std::optional<Permille> throttled;         ///< by a quota of its own
  std::optional<int> be_degree;              ///< interference that best effort causes, 0..100
  std::optional<int> degree{};               ///< interference, whoever causes it, 0..100
  std::optional<double> cpu_some_percent{};  ///< some of its tasks waited
  std::optional<std::chrono::nanoseconds> wait_p95{};  ///< in the run queue
  friend bool operator==(const LsSignal&, const LsSignal&) = default;
};

}  // namespace koordlet
