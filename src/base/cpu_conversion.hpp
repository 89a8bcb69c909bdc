#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/limit.hpp"
#include "base/units.hpp"

/// CPU amounts as cgroup numbers (reference: cgroups-and-executor, sections 5.1 and 5.2). Pure.
namespace koordlet {

/// cpu.shares of a request: 2 for 0 and less, else 1024 a core, within 2..262144.
std::int64_t shares_of(MilliCpu amount);

/// CPU time in each `period`: unlimited for 0 and less, else at least the kernel's 1000 us.
Limit<std::chrono::microseconds> quota_of(
    MilliCpu amount, std::chrono::microseconds period = std::chrono::milliseconds{100});

/// How cpu.shares become cpu.weight. Runtimes changed the curve (runc 1.3.2, crun 1.23): 1024
/// shares are weight 39 by the old rule and 100 by the new one. Compare weights, never shares.
enum class WeightRule { kLinear, kLog };

/// 1..10000; shares are clamped to 2..262144.
std::int64_t weight_of(std::int64_t shares, WeightRule rule);
/// 2..262144; weight is clamped to 1..10000. Linear: the inverse formula. Log: the fewest shares
/// that give at least this weight.
std::int64_t shares_of_weight(std::int64_t weight, WeightRule rule);

/// The rule that made `weight` from `shares`, seen on a running container; nullopt when both or
/// none do.
std::optional<WeightRule> detect_weight_rule(std::int64_t shares, std::int64_t weight);

}  // namespace koordlet
