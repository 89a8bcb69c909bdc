#include "policy/be_progress.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "policy/be_view.hpp"
#include "policy/hands_off.hpp"

namespace koordlet::policy {
namespace {

/// Above it the node has nothing left to give, whoever starves.
constexpr int kFullPercent = 95;
/// Less throttling or waiting than this is every running task's.
constexpr int kThrottledPermille = 50;
constexpr double kWaitPercent = 10;
/// Windows of latency-sensitive pods come each 10 s.
constexpr std::chrono::seconds kSignalYoung{30};

/// nullopt: neither signal is known.
std::optional<bool> wants_more(const BeProgress& p) {
  if (!p.throttled && !p.wait_percent) return std::nullopt;
  return (p.throttled && p.throttled->v >= kThrottledPermille) ||
         (p.wait_percent && *p.wait_percent >= kWaitPercent);
}

bool ls_suffers(const Snapshot& snap, const EffectiveConfig& config) {
  return std::any_of(snap.ls_signals.begin(), snap.ls_signals.end(), [&](const LsSignal& s) {
    if (snap.now - s.at > kSignalYoung || !s.cpu_full_percent) return false;
    const double own = s.throttled ? static_cast<double>(s.throttled->v) / 10 : 0;
    return *s.cpu_full_percent - own >= config.pressure.psi_high_percent;
  });
}

/// What the node could give BE below the HIGH threshold; the text says why it is nothing.
std::pair<MilliCpu, std::string> room(const Snapshot& snap, const EffectiveConfig& config) {
  const auto capacity = capacity_of(snap);
  const auto* signals = fresh_signals(snap, config.node_stale_seconds);
  if (!capacity || signals == nullptr) return {{}, "the node's use is not known"};
  if (at_least_percent(signals->node_used, kFullPercent, *capacity)) {
    return {{}, fmt::format("the node is used to {} % or more", kFullPercent)};
  }
  if (ls_suffers(snap, config)) return {{}, "a latency-sensitive pod stalls as at HIGH"};
  const auto use = non_be_use(*signals, snap.state->node->cpu_reserved);
  if (!use) return {{}, "the use of BE is not known"};
  const MilliCpu left = percent_of(*capacity, config.pressure.high_percent) - use->ls - use->system;
  if (left.v <= 0) return {{}, "what is not best effort fills the node to the HIGH threshold"};
  return {left, {}};
}

/// Its entry after this sample; nullopt: it is not hungry.
std::optional<StarvationState::Hungry> look(const Pod& pod,
                                            const Snapshot& snap,
                                            const StarvationConfig& cfg,
                                            const StarvationState::Hungry* known) {
  const auto usage = snap.pods.find(pod.uid);
  const bool young = usage != snap.pods.end() && snap.now - usage->second.at <= snap.usage_valid;
  const auto keep = known != nullptr ? std::optional{*known} : std::nullopt;
  if (!young || (known != nullptr && usage->second.at == known->sample)) return keep;
  const auto progress = be_progress(pod, &usage->second);
  const auto wants = wants_more(progress);
  if (!progress.share || !wants) return keep;
  // Once starving it has to show more than its floor gives: that would else end its own cause.
  const bool starving = known != nullptr && known->starving;
  const int mark =
      10 * (starving ? std::max(2 * cfg.percent, cfg.floor_percent + cfg.percent) : cfg.percent);
  if (!*wants || progress.share->v >= mark) return std::nullopt;
  StarvationState::Hungry out;
  out.since = known != nullptr ? known->since : usage->second.at;
  out.sample = usage->second.at;
  out.share = *progress.share;
  out.starving = (known != nullptr && known->starving) ||
                 out.sample - out.since >= std::chrono::seconds{cfg.seconds};
  return out;
}

MilliCpu floor_of(const Pod& pod, const EffectiveConfig& config) {
  const auto request = be_cpu_request(pod);
  return request ? percent_of(*request, config.starvation.floor_percent) : MilliCpu{};
}

/// `quota` of the proposal as milli-cores; nullopt: unlimited, or no CPU quota.
std::optional<MilliCpu> quota_of(const Proposal& p) {
  const auto* max = std::get_if<CpuMax>(&p.value);
  if (max == nullptr || p.role != Role::kCap || !max->quota.bound()) return std::nullopt;
  return MilliCpu{
      static_cast<std::int64_t>(Wide{max->quota.bound()->count()} * 1000 / max->period.count())};
}

}  // namespace

BeProgress be_progress(const Pod& pod, const PodUsage* usage) {
  BeProgress out;
  if (usage == nullptr) return out;
  const auto request = be_cpu_request(pod);
  if (request && request->v > 0 && usage->cpu) {
    out.share = Permille{static_cast<std::int64_t>(Wide{usage->cpu->v} * 1000 / request->v)};
  }
  out.throttled = usage->throttled;
  if (usage->stalls.cpu) out.wait_percent = usage->stalls.cpu->some_percent;
  return out;
}

std::optional<Permille> class_progress(const NodeState& state,
                                       const std::map<std::string, PodUsage>& usage) {
  Wide used = 0, asked = 0;
  for (const auto& pod : state.pods) {
    if (!is_active(*pod) || !is_best_effort(*pod)) continue;
    const auto request = be_cpu_request(*pod);
    const auto sample = usage.find(pod->uid);
    if (!request || request->v <= 0 || sample == usage.end() || !sample->second.cpu) continue;
    used += sample->second.cpu->v;
    asked += request->v;
  }
  if (asked == 0) return std::nullopt;
  return Permille{static_cast<std::int64_t>(used * 1000 / asked)};
}

StarvationState starvation(const Snapshot& snap,
                           const EffectiveConfig& config,
                           StarvationState state) {
  StarvationState out;
  if (!config.starvation.enable) return out;
  for (const auto& pod : snap.state->pods) {
    if (pod->phase != PodPhase::kRunning || pod->terminating || !is_best_effort(*pod)) continue;
    if (hands_off(*pod, config.hands_off_namespaces)) continue;
    const auto known = state.pods.find(pod->uid);
    const auto hungry =
        look(*pod, snap, config.starvation, known != state.pods.end() ? &known->second : nullptr);
    if (!hungry) continue;
    out.pods.emplace(pod->uid, *hungry);
    if (!hungry->starving) continue;
    out.starving.push_back(pod->uid);
    out.wanted = out.wanted + floor_of(*pod, config);
  }
  if (out.starving.empty()) return out;
  const auto [left, why_none] = room(snap, config);
  out.floor = std::min(out.wanted, left);
  out.room = left;
  out.why = !why_none.empty()
                ? fmt::format("no floor for {} starving pods: {}", out.starving.size(), why_none)
                : fmt::format("{} pods under {} % of their request for {} s: floor {}m of {}m",
                              out.starving.size(),
                              config.starvation.percent,
                              config.starvation.seconds,
                              out.floor.v,
                              out.wanted.v);
  return out;
}

void raise_to_floor(std::vector<Proposal>& proposals,
                    const Snapshot& snap,
                    const EffectiveConfig& config,
                    const StarvationState& state) {
  if (state.floor.v <= 0 || config.off) return;
  std::map<CgroupPath, MilliCpu> floors;
  for (const auto& uid : state.starving) {
    const auto* pod = find_pod(*snap.state, uid);
    if (pod == nullptr || pod->cgroup.is_root()) continue;
    // Of a floor that the node has no room for, each gets its part.
    const Wide part = Wide{floor_of(*pod, config).v} * state.floor.v / state.wanted.v;
    floors[pod->cgroup] = MilliCpu{static_cast<std::int64_t>(part)};
  }
  MilliCpu added;  // what the pods below the root gained
  const auto lift = [&](Proposal& p, MilliCpu to) {
    p.value = cpu_max(quota_us_of(to));
    p.reason += fmt::format("; not under {}m: it starves", to.v);
  };
  for (auto& p : proposals) {
    const auto floor = floors.find(p.key.path);
    const auto quota = quota_of(p);
    if (floor == floors.end() || !quota || *quota >= floor->second) continue;
    if (snap.be_root && snap.be_root->path.is_ancestor_of(p.key.path)) {
      added = added + floor->second - *quota;
    }
    lift(p, floor->second);
  }
  if (!snap.be_root) return;
  for (auto& p : proposals) {
    const auto quota = quota_of(p);
    if (p.key.path != snap.be_root->path || !quota) continue;
    // All BE caps share one budget: nothing is lifted beyond what the node has left.
    const MilliCpu to = std::min(std::max(*quota + added, state.floor), state.room);
    if (to > *quota) lift(p, to);
  }
}

}  // namespace koordlet::policy
