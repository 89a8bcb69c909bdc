#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/units.hpp"
#include "model/pod.hpp"
#include "policy/config_burst.hpp"

/// The arithmetic of CPU burst, apart from where its inputs come from (reference 6).
namespace koordlet::policy {

/// Load of the CPUs that are not LSE's or LSR's, without what BE uses.
enum class PoolState { kUnknown, kIdle, kCooling, kOverload };
std::string_view to_string(PoolState s);  ///< "unknown", "idle", "cooling", "overload"

/// used / total against `percent`: from it on overload, from 0.9 of it on cooling. A pool without
/// CPUs is full.
PoolState pool_state(MilliCpu used, MilliCpu total, int percent);

/// Quota of a limit, us each 100 ms: limit x 100, at least 1000. `ratio_percent` is the CPU
/// normalization ratio that divides it (100: none), `scale_permille` the boost that multiplies it:
/// one formula for one file, so that the order of the two does not matter.
std::int64_t burst_quota_us(MilliCpu limit, int ratio_percent, int scale_permille);

/// Static burst: limit x percent, never above `quota_us` (the kernel refuses more), nor so large
/// that both together exceed what it takes.
std::int64_t static_burst_us(MilliCpu limit, int percent, std::int64_t quota_us);

enum class BurstMove { kDown, kRemain, kUp };
/// One step: up x 1.2, down x 0.8, within base and base x percent / 100.
std::int64_t moved_quota_us(BurstMove move, std::int64_t current, std::int64_t base, int percent);
/// A busy pool or a closed gate takes boosts back; a cooling or unknown pool grants no new ones.
BurstMove overridden(BurstMove move, PoolState pool, bool gate_open);

/// The time budget of a container, in percent of its limit x ms. Use above the limit takes from it,
/// use below 60 % fills it.
struct BurstTokens {
  std::int64_t capacity = 0;  ///< 0: no budget is kept
  std::int64_t left = 0;      ///< -capacity..capacity
  friend bool operator==(const BurstTokens&, const BurstTokens&) = default;
};
/// Full after `period_seconds` at the largest boost. Starts between 0 and half full, by `seed`:
/// spread over the containers, the same after each restart.
BurstTokens new_tokens(int period_seconds, int quota_percent, std::uint64_t seed);
/// `used_percent`: use x 100 / limit.
void spend(BurstTokens& tokens, std::int64_t used_percent, std::chrono::milliseconds passed);
/// Same text, same number, on every machine (FNV-1a).
std::uint64_t burst_seed(std::string_view text);

/// What holds for the containers of one pod.
struct PodBurst {
  bool static_burst = false, quota_burst = false;
  int burst_percent = 0, quota_percent = 100;
  int period_seconds = -1;
};
/// The node's configuration with the pod's annotation over it, within the node's bounds.
PodBurst pod_burst(const Pod& pod, const BurstConfig& config);

/// What kubelet gives the pod's cgroup, us each 100 ms; nullopt: unlimited, for one of its
/// containers has no limit.
std::optional<std::int64_t> pod_quota_us(const Pod& pod);

}  // namespace koordlet::policy
