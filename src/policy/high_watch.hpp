#pragma once

#include <chrono>
#include <optional>

#include "base/clock.hpp"

namespace koordlet::policy {

/// Says whether a node is under high pressure for long: true after `after` of HIGH without a break,
/// false after `after` below it without a break, and what was said before in between. nullopt until
/// either has been seen: what an earlier run told the cluster stays.
struct HighWatch {
  std::optional<bool> high;  ///< on which side it is now; nullopt: not looked yet
  MonoTime since;            ///< of that side
  std::optional<bool> lasting;
  friend bool operator==(const HighWatch&, const HighWatch&) = default;
};
HighWatch watch_high(HighWatch watch, bool high, MonoTime now, std::chrono::seconds after);

}  // namespace koordlet::policy
