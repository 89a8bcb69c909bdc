#include "policy/cpu_burst_rules.hpp"

#include <algorithm>

#include "policy/be_view.hpp"

namespace koordlet::policy {
namespace {

constexpr std::int64_t kLeastQuotaUs = 1000;  // kernel/sched: min_cfs_quota_period
constexpr std::int64_t kFillBelowPercent = 60;

std::int64_t clamped(Wide v, Wide low, Wide high) {
  return static_cast<std::int64_t>(std::clamp(v, low, high));
}

/// -1 is no budget at all, so it is the largest.
int stricter_period(int said, int bound) {
  if (bound < 0) return said;
  return said < 0 ? bound : std::min(said, bound);
}

}  // namespace

std::string_view to_string(PoolState s) {
  switch (s) {
    case PoolState::kUnknown:
      return "unknown";
    case PoolState::kIdle:
      return "idle";
    case PoolState::kCooling:
      return "cooling";
    case PoolState::kOverload:
      return "overload";
  }
  return "?";
}

PoolState pool_state(MilliCpu used, MilliCpu total, int percent) {
  if (total.v <= 0) return PoolState::kOverload;
  if (Wide{used.v} * 100 >= Wide{total.v} * percent) return PoolState::kOverload;
  if (Wide{used.v} * 1000 >= Wide{total.v} * percent * 9) return PoolState::kCooling;
  return PoolState::kIdle;
}

std::int64_t burst_quota_us(MilliCpu limit, int ratio_percent, int scale_permille) {
  const Wide quota = Wide{limit.v} * 100 * 100 * scale_permille / (Wide{ratio_percent} * 1000);
  return clamped(quota, kLeastQuotaUs, kMaxQuotaUs);
}

std::int64_t static_burst_us(MilliCpu limit, int percent, std::int64_t quota_us) {
  // limit_m / 1000 cores x percent / 100 x 100000 us
  return clamped(Wide{limit.v} * percent, 0, std::min(quota_us, kMaxQuotaUs - quota_us));
}

std::int64_t moved_quota_us(BurstMove move, std::int64_t current, std::int64_t base, int percent) {
  const Wide top = percent > 100 ? Wide{base} * percent / 100 : Wide{base};
  const int tenths = move == BurstMove::kUp ? 12 : move == BurstMove::kDown ? 8 : 10;
  return clamped(Wide{current} * tenths / 10, base, std::min<Wide>(top, kMaxQuotaUs));
}

BurstMove overridden(BurstMove move, PoolState pool, bool gate_open) {
  if (pool == PoolState::kOverload || !gate_open) return BurstMove::kDown;
  if (pool != PoolState::kIdle && move == BurstMove::kUp) return BurstMove::kRemain;
  return move;
}

BurstTokens new_tokens(int period_seconds, int quota_percent, std::uint64_t seed) {
  BurstTokens out;
  out.capacity = std::int64_t{period_seconds} * std::max(quota_percent - 100, 0) * 1000;
  out.left = static_cast<std::int64_t>(Wide{out.capacity} * (seed % 1000) / 2000);
  return out;
}

void spend(BurstTokens& tokens, std::int64_t used_percent, std::chrono::milliseconds passed) {
  Wide rate = 0;
  if (used_percent >= 100 || used_percent < kFillBelowPercent) rate = 100 - Wide{used_percent};
  tokens.left = clamped(tokens.left + rate * passed.count(), -tokens.capacity, tokens.capacity);
}

std::uint64_t burst_seed(std::string_view text) {
  std::uint64_t hash = 14'695'981'039'346'656'037u;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 1'099'511'628'211u;
  }
  return hash ^ (hash >> 32);  // the low bits of FNV alone are weak
}

PodBurst pod_burst(const Pod& pod, const BurstConfig& config) {
  BurstPolicy policy = config.policy;
  PodBurst out;
  out.burst_percent = config.burst_percent.value_or(kStandAloneBurstPercent);
  out.quota_percent = config.quota_percent;
  out.period_seconds = config.period_seconds;
  if (config.annotations && pod.burst) {
    const CpuBurstStrategy& own = *pod.burst;
    policy = own.policy.value_or(policy);
    // What the node itself uses is within its own bounds.
    const int most_burst = std::max(out.burst_percent, config.annotation_max_burst_percent);
    const int most_quota = std::max(out.quota_percent, config.annotation_max_quota_percent);
    if (own.burst_percent) out.burst_percent = std::min(*own.burst_percent, most_burst);
    if (own.quota_percent) out.quota_percent = std::min(*own.quota_percent, most_quota);
    if (own.quota_period_seconds) {
      out.period_seconds = stricter_period(*own.quota_period_seconds, config.period_seconds);
    }
  }
  out.static_burst = policy == BurstPolicy::kAuto || policy == BurstPolicy::kCpuBurstOnly;
  out.quota_burst = policy == BurstPolicy::kAuto || policy == BurstPolicy::kCfsQuotaBurstOnly;
  return out;
}

std::optional<std::int64_t> pod_quota_us(const Pod& pod) {
  MilliCpu sum, init;
  for (const auto& c : pod.containers) {
    const bool limited = c.limits.cpu && c.limits.cpu->v > 0;
    if (!limited && !c.init) return std::nullopt;
    if (!limited) continue;
    if (c.init) {
      init = std::max(init, *c.limits.cpu);
    } else {
      sum += *c.limits.cpu;
    }
  }
  sum = std::max(sum, init);
  if (sum.v <= 0) return std::nullopt;
  return burst_quota_us(sum + pod.overhead.cpu.value_or(MilliCpu{}), 100, 1000);
}

}  // namespace koordlet::policy
