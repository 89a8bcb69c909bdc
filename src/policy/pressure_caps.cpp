#include "policy/pressure_caps.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace koordlet::policy {
namespace {

/// "83.1", cut, so that no value below a threshold is shown as if it had reached it.
std::string percent_text(int permyriad) {
  return fmt::format("{}.{}", permyriad / 100, permyriad % 100 / 10);
}

std::string level_text(const Pressure::State& st, const PressureConfig& cfg) {
  const std::string_view name = to_string(st.level);
  const std::string used = percent_text(st.use_permyriad);
  if (st.level == Level::kNone) {
    return fmt::format("level {} ({} % < {} %)", name, used, cfg.mid_percent);
  }
  if (st.use_permyriad == 0) return fmt::format("level {} (held)", name);
  const int enter = st.level == Level::kHigh ? cfg.high_percent : cfg.mid_percent;
  if (st.use_permyriad >= enter * 100) {
    return fmt::format("level {} ({} % >= {} %)", name, used, enter);
  }
  if (st.raise.level >= st.level && st.raise.level > st.by_use) {
    return fmt::format("level {} ({} %, raised by {})", name, used, st.raise.reason);
  }
  return fmt::format(
      "level {} ({} %, left below {} %)", name, used, enter - cfg.exit_margin_percent);
}

int ceiling_of(const Pressure::State& st, const PressureConfig& cfg) {
  return st.level == Level::kHigh  ? cfg.factor_high_permille
         : st.level == Level::kMid ? cfg.factor_mid_permille
                                   : cfg.factor_none_permille;
}

std::string root_reason(const Pressure::State& st, const PressureConfig& cfg) {
  const std::string text = fmt::format("BE without a request shares {}m", st.root_cap.v);
  // Adopted, and not computed anew since.
  if (st.root_ls_used.v == 0 && st.root_system_used.v == 0) return text;
  return fmt::format("{}: {} % of the node less LS {}m, system {}m",
                     text,
                     cfg.high_percent,
                     st.root_ls_used.v,
                     st.root_system_used.v);
}

Proposal cap(const CgroupPath& path, std::int64_t quota_us, std::string reason) {
  Proposal p;
  p.key = {path, CgroupFile::kCpuMax};
  p.value = cpu_max(quota_us);
  p.role = Role::kCap;
  p.plugin = Pressure::kName;
  p.reason = std::move(reason);
  return p;
}

}  // namespace

std::int64_t pod_quota_us(MilliCpu request, int factor_permille, const PressureConfig& cfg) {
  const Wide quota = Wide{request.v} * factor_permille / 10;
  return static_cast<std::int64_t>(std::clamp<Wide>(quota, cfg.min_quota_us, kMaxQuotaUs));
}

void update_root_cap(Pressure::State& state,
                     const Snapshot& snap,
                     const EffectiveConfig& config,
                     const BePods& pods,
                     const NodeSignals& signals,
                     MilliCpu capacity,
                     bool is_new) {
  const bool unset = state.root_cap.v == 0;
  if (!pods.uncapped_below_root || (!unset && !is_new)) return;
  const auto use = non_be_use(signals, snap.state->node->cpu_reserved);
  if (!use) return;  // unknown is not zero: the last cap holds
  const MilliCpu floor = std::max(MilliCpu{kMinRootQuotaUs / 100},
                                  percent_of(capacity, config.suppress.min_percent.value_or(0)));
  // What BE pods outside the BE root use counts against the root too: all BE caps share one budget.
  const MilliCpu budget = percent_of(capacity, config.pressure.high_percent) - use->ls -
                          use->system - signals.be_outside_used;
  MilliCpu next = std::max(budget, floor);
  if (!unset) {
    const MilliCpu gap = next < state.root_cap ? state.root_cap - next : next - state.root_cap;
    // 1 % of the node: smaller moves are noise, but the floor is always reached.
    if (gap < percent_of(capacity, 1) && next != floor) return;
    if (next > state.root_cap) {
      if (!snap.may_relax || state.settle_samples > 0) return;
      next = std::min(next, state.root_cap + percent_of(capacity, 10));
    }
  }
  state.root_cap = next;
  state.root_ls_used = use->ls + signals.be_outside_used;
  state.root_system_used = use->system;
}

std::vector<Proposal> pressure_caps(const Pressure::State& state,
                                    const Snapshot& snap,
                                    const PressureConfig& config,
                                    const BePods& pods) {
  std::vector<Proposal> out;
  out.reserve(pods.capped.size() + 4);  // the root, and room for the other plugins' root files
  const std::string level = level_text(state, config);
  const int factor = state.factor_permille;
  const int ceiling = ceiling_of(state, config);
  const std::string ramp = factor < ceiling ? fmt::format(" (ramp to {})", ceiling) : "";
  std::int64_t sum_us = 0;
  std::size_t summed = 0;
  for (const auto& pod : pods.capped) {
    const std::int64_t quota = pod_quota_us(pod.request, factor, config);
    if (pod.below_root) {
      sum_us = std::min(sum_us + quota, kMaxQuotaUs);
      ++summed;
    }
    out.push_back(
        cap(pod.pod->cgroup,
            quota,
            fmt::format("{}: request {}m x {} permille{}", level, pod.request.v, factor, ramp)));
  }
  if (!snap.be_root) return out;
  if (pods.uncapped_below_root) {
    if (state.root_cap.v == 0) return out;
    const auto quota = std::max<std::int64_t>(quota_us_of(state.root_cap), config.min_quota_us);
    out.push_back(cap(snap.be_root->path, quota, root_reason(state, config)));
  } else if (factor < 1000 && summed > 0 && !pods.stranger_below_root) {
    // One write that bounds them all, before the pods get theirs.
    out.push_back(cap(snap.be_root->path,
                      sum_us,
                      fmt::format("{}: sum of {} pod caps at {} permille", level, summed, factor)));
  }
  return out;
}

}  // namespace koordlet::policy
