#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace koordlet::k8s {

/// Durations as Go writes them: "5m0s", "1h0m0s", "90s", "1.5h", "250ms", "0". Below a nanosecond
/// is cut off. kParse for anything else, kRange beyond 292 years.
Result<std::chrono::nanoseconds> parse_duration(std::string_view text);
/// 300 s -> "5m0s", 3600 s -> "1h0m0s", 45 s -> "45s", 0 -> "0s".
std::string format_duration(std::chrono::seconds d);

/// RFC3339 in UTC, whole seconds (cut off, not rounded): "2026-07-24T06:52:45Z".
std::string format_time(WallTime t);

}  // namespace koordlet::k8s
