#include "policy/cpu_burst.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "policy/be_view.hpp"
#include "policy/start_values.hpp"

namespace koordlet::policy {
namespace {

using std::chrono::milliseconds;
using State = CpuBurst::State;

constexpr std::chrono::seconds kWindow{10};
constexpr std::size_t kMostSamples = 128;
/// A longer gap between two ticks was no time of measured use.
constexpr milliseconds kLongestGap{10'000};
/// An open gate closes at its percent and opens again so far below it.
constexpr int kGateMargin = 5;
constexpr int kCalmPercent = 60;

bool is_exclusive(const Pod& pod) { return pod.qos == QosClass::kLse || pod.qos == QosClass::kLsr; }

/// A pod that has CPUs of its own runs without a quota.
bool has_own_cpus(const Pod& pod, const Node& node) {
  if (!pod.allocated_cpus.empty()) return true;
  if (node.cpu_policy != KubeletCpuPolicy::kStatic || pod.kube_qos != KubeQos::kGuaranteed) {
    return false;
  }
  return std::any_of(pod.containers.begin(), pod.containers.end(), [](const Container& c) {
    return c.requests.cpu && c.requests.cpu->v > 0 && c.requests.cpu->v % 1000 == 0;
  });
}

bool may_burst(const Pod& pod, const Node& node) {
  return is_active(pod) && !is_exclusive(pod) && pod.qos != QosClass::kBe &&
         !pod.cgroup.is_root() && !has_own_cpus(pod, node);
}

bool may_burst(const Container& c) {
  return c.running && !c.init && c.cgroup && !c.cgroup->is_root() && c.limits.cpu &&
         c.limits.cpu->v > 0;
}

/// Quota of a container before any boost: of its limit, and divided where the node is normalized,
/// so that both rules have one base (pitfall 98).
std::int64_t base_quota_us(const Pod& pod,
                           const Container& c,
                           const std::optional<NormalizationRatio>& ratio) {
  const auto divided = normalized_quota(pod, c, ratio);
  return divided ? std::min(divided->bound()->count(), kMaxQuotaUs)
                 : burst_quota_us(*c.limits.cpu, 100, 1000);
}

std::optional<std::int64_t> base_quota_us(const Pod& pod,
                                          const std::optional<NormalizationRatio>& ratio) {
  const auto divided = normalized_quota(pod, ratio);
  return divided ? std::min(divided->bound()->count(), kMaxQuotaUs) : pod_quota_us(pod);
}

/// The node's, where quotas are divided by it.
std::optional<NormalizationRatio> ratio_of(const Snapshot& snap, const EffectiveConfig& config) {
  if (!config.hooks.cpu_normalization || !snap.state->node) return std::nullopt;
  return normalization_ratio(*snap.state->node);
}

/// What is not BE's, now; nullopt: BE's share is unknown.
std::optional<MilliCpu> not_be(const Snapshot& snap, const NodeSignals& signals) {
  if (!signals.be_used && snap.be_root) return std::nullopt;
  const MilliCpu be = signals.be_used.value_or(MilliCpu{}) + signals.be_outside_used;
  return std::max(signals.node_used - be, MilliCpu{});
}

struct Pool {
  PoolState state = PoolState::kUnknown;
  std::optional<int> permille;
};

Pool judge_pool(const Snapshot& snap, const State& st, MilliCpu capacity, int percent) {
  if (st.window.empty()) return {};
  Wide sum = 0;
  for (const auto& s : st.window) sum += s.not_be.v;
  MilliCpu used{static_cast<std::int64_t>(sum / static_cast<Wide>(st.window.size()))};
  MilliCpu total = capacity;
  for (const auto& pod : snap.state->pods) {
    if (!is_active(*pod) || !is_exclusive(*pod)) continue;
    const auto usage = snap.pods.find(pod->uid);
    const bool known = usage != snap.pods.end() && usage->second.cpu &&
                       snap.now - usage->second.at <= snap.usage_valid;
    if (!known) return {};
    used -= *usage->second.cpu;
    for (const auto& c : pod->containers) {
      if (!c.init) total -= c.requests.cpu.value_or(MilliCpu{});
    }
  }
  used = std::max(used, MilliCpu{});
  const Wide share = total.v > 0 ? Wide{used.v} * 1000 / total.v : Wide{1000};
  return {pool_state(used, total, percent), static_cast<int>(std::min<Wide>(share, 1'000'000))};
}

bool gate_open(const NodeSignals& signals, MilliCpu capacity, const BurstConfig& cfg, bool was) {
  if (!cfg.gate_percent) return true;
  const int closes_at = was ? *cfg.gate_percent : *cfg.gate_percent - kGateMargin;
  return !at_least_percent(signals.node_used, std::max(closes_at, 1), capacity);
}

/// Pool and gate by the newest signals; old or missing ones close the gate.
void look_at_node(State& st, const Snapshot& snap, const EffectiveConfig& config) {
  const BurstConfig& cfg = config.burst;
  auto& sum = st.summary;
  const auto capacity = capacity_of(snap);
  const NodeSignals* signals = fresh_signals(snap, config.node_stale_seconds);
  if (signals == nullptr || !capacity) {
    st.window.clear();
    sum.pool = PoolState::kUnknown;
    sum.pool_permille.reset();
    sum.gate_open = false;
    sum.why = "gate closed: no young sample of the node";
    return;
  }
  if (signals->seq != st.last_seq) {
    st.last_seq = signals->seq;
    if (const auto used = not_be(snap, *signals)) st.window.push_back({signals->at, *used});
    if (st.window.size() > kMostSamples) st.window.erase(st.window.begin());
  }
  std::erase_if(st.window, [&](const auto& s) { return snap.now - s.at > kWindow; });
  const Pool pool = judge_pool(snap, st, *capacity, cfg.pool_percent);
  sum.pool = pool.state;
  sum.pool_permille = pool.permille;
  sum.gate_open = gate_open(*signals, *capacity, cfg, sum.gate_open || !st.last_at);
  sum.why = fmt::format("share pool {}", to_string(sum.pool));
  if (pool.permille) {
    sum.why += fmt::format(
        " ({}.{} % of {} %)", *pool.permille / 10, *pool.permille % 10, cfg.pool_percent);
  }
  if (cfg.gate_percent) {
    sum.why += fmt::format(", gate {} (node {} {} %)",
                           sum.gate_open ? "open" : "closed",
                           sum.gate_open ? "below" : "at",
                           *cfg.gate_percent);
  }
}

const ContainerUsage* usage_of(const Snapshot& snap, const Container& c) {
  if (snap.containers == nullptr) return nullptr;
  const auto found = snap.containers->find(c.runtime + "://" + c.id);
  if (found == snap.containers->end()) return nullptr;
  return snap.now - found->second.at <= snap.usage_valid ? &found->second : nullptr;
}

/// use x 100 / quota before any boost; nullopt: not measured.
std::optional<std::int64_t> used_percent(const ContainerUsage* usage, std::int64_t base_us) {
  if (usage == nullptr || !usage->cpu) return std::nullopt;
  return static_cast<std::int64_t>(Wide{usage->cpu->v} * 100 * 100 / base_us);
}

/// One normal tick of one container whose quota may burst.
void advance(CpuBurst::Container& rec,
             const std::string& key,
             const Container& c,
             std::int64_t base,
             const PodBurst& rule,
             const Snapshot& snap,
             const BurstConfig& cfg,
             CpuBurst::Summary& sum,
             milliseconds passed) {
  const ContainerUsage* usage = usage_of(snap, c);
  const auto percent = used_percent(usage, base);
  bool allowed = true;
  if (rule.period_seconds > 0) {
    auto fresh = new_tokens(rule.period_seconds, rule.quota_percent, burst_seed(key));
    if (rec.tokens.capacity != fresh.capacity) rec.tokens = fresh;
    spend(rec.tokens, percent.value_or(100), passed);
    allowed = rec.tokens.left > 0;
  } else {
    rec.tokens = {};
  }
  if (!allowed) ++sum.denied;

  const bool is_new = usage != nullptr && usage->at != rec.sample_at;
  if (is_new) rec.sample_at = usage->at;
  const bool measured = usage != nullptr && usage->throttled;
  const bool throttled = measured && usage->throttled->v > 0;
  const bool calm = measured && !throttled && percent && *percent < kCalmPercent;
  if (!calm) {
    rec.calm_since.reset();
  } else if (!rec.calm_since) {
    rec.calm_since = snap.now;
  }
  const bool idle =
      rec.calm_since && snap.now - *rec.calm_since >= std::chrono::seconds{cfg.shrink_seconds};
  // A sample counts once; what takes back does not wait for one.
  BurstMove move = BurstMove::kRemain;
  if (!allowed) {
    move = BurstMove::kDown;
  } else if (is_new && throttled) {
    move = BurstMove::kUp;
  } else if (is_new && idle) {
    move = BurstMove::kDown;
  }
  move = overridden(move, sum.pool, sum.gate_open);
  const std::int64_t now = rec.quota_us > 0 ? rec.quota_us : base;
  const std::int64_t next = moved_quota_us(move, now, base, rule.quota_percent);
  if (next > now) {
    rec.why = fmt::format(
        "throttled in {}.{} % of its periods", usage->throttled->v / 10, usage->throttled->v % 10);
  } else if (next < now) {
    rec.why = !allowed ? "its time budget is used up"
              : sum.pool == PoolState::kOverload || !sum.gate_open
                  ? sum.why
                  : std::string{"idle and not throttled"};
  }
  rec.quota_us = next > base ? next : 0;
}

Proposal propose(const CgroupPath& path, CgroupFile file, CgroupValue value, Role role) {
  Proposal p;
  p.key = {path, file};
  p.value = std::move(value);
  p.role = role;
  p.plugin = CpuBurst::kName;
  return p;
}

void add_quota(std::vector<Proposal>& out,
               const CgroupPath& path,
               std::int64_t base,
               std::int64_t boosted,
               const std::string& why) {
  auto spec = propose(path, CgroupFile::kCpuMax, cpu_max(base), Role::kBase);
  spec.reason = fmt::format("quota of the spec: {} us", base);
  auto boost = propose(path, CgroupFile::kCpuMax, cpu_max(boosted), Role::kBoost);
  boost.reason =
      fmt::format("boost of {} us above the spec's {} us: {}", boosted - base, base, why);
  out.push_back(std::move(spec));
  out.push_back(std::move(boost));
}

void add_burst(std::vector<Proposal>& out,
               const CgroupPath& path,
               std::int64_t burst,
               std::string reason) {
  auto p = propose(path, CgroupFile::kCpuBurst, Number{burst}, Role::kBase);
  p.reason = std::move(reason);
  out.push_back(std::move(p));
}

std::string key_of(const Pod& pod, const Container& c) { return pod.uid + '/' + c.name; }

void propose_pod(std::vector<Proposal>& out,
                 const Pod& pod,
                 const std::optional<NormalizationRatio>& ratio,
                 const PodBurst& rule,
                 bool static_open,
                 State& st) {
  const auto pod_base = base_quota_us(pod, ratio);
  std::int64_t burst_sum = 0, boost_sum = 0;
  std::string why;
  for (const auto& c : pod.containers) {
    if (!may_burst(c)) continue;
    const std::int64_t base = base_quota_us(pod, c, ratio);
    const std::int64_t burst = static_burst_us(*c.limits.cpu, rule.burst_percent, base);
    if (rule.static_burst && static_open && burst > 0) {
      burst_sum = std::min(burst_sum + burst, kMaxQuotaUs);
      ++st.summary.bursting;
      add_burst(out,
                *c.cgroup,
                burst,
                fmt::format("{} % of the limit {}m, not above its quota {} us",
                            rule.burst_percent,
                            c.limits.cpu->v,
                            base));
    }
    const auto rec = st.containers.find(key_of(pod, c));
    if (!rule.quota_burst || rec == st.containers.end() || rec->second.quota_us <= base) continue;
    ++st.summary.boosted;
    boost_sum = std::min(boost_sum + rec->second.quota_us - base, kMaxQuotaUs);
    why = rec->second.why;
    add_quota(out, *c.cgroup, base, rec->second.quota_us, why);
  }
  if (!pod_base) return;  // unlimited: nothing to lift
  if (boost_sum > 0) add_quota(out, pod.cgroup, *pod_base, *pod_base + boost_sum, why);
  burst_sum = std::min({burst_sum, *pod_base, kMaxQuotaUs - *pod_base});
  if (burst_sum > 0) add_burst(out, pod.cgroup, burst_sum, "sum of its containers");
}

/// One normal tick: pool, gate and every container move. Containers that are gone are forgotten.
void advance_all(State& st, const Snapshot& snap, const EffectiveConfig& config) {
  milliseconds passed{0};
  if (st.last_at) {
    passed = std::chrono::duration_cast<milliseconds>(snap.now - *st.last_at);
    passed = std::clamp(passed, milliseconds{0}, kLongestGap);
  }
  look_at_node(st, snap, config);
  const auto ratio = ratio_of(snap, config);
  // Whole milliseconds only were counted: the rest belongs to the next tick.
  const bool short_gap = st.last_at && snap.now - *st.last_at < kLongestGap;
  st.last_at = short_gap ? *st.last_at + passed : snap.now;
  st.summary.denied = 0;
  std::map<std::string, CpuBurst::Container> kept;
  for (const auto& pod : snap.state->pods) {
    if (!snap.state->node || !may_burst(*pod, *snap.state->node)) continue;
    const PodBurst rule = pod_burst(*pod, config.burst);
    if (!rule.quota_burst) continue;
    for (const auto& c : pod->containers) {
      if (!may_burst(c)) continue;
      const std::string key = key_of(*pod, c);
      CpuBurst::Container rec;
      if (const auto old = st.containers.find(key); old != st.containers.end()) {
        rec = std::move(old->second);
      }
      if (rec.id != c.id) {
        rec.id = c.id;
        rec.quota_us = 0;
        rec.calm_since.reset();
      }
      advance(
          rec, key, c, base_quota_us(*pod, c, ratio), rule, snap, config.burst, st.summary, passed);
      kept.emplace(key, std::move(rec));
    }
  }
  st.containers = std::move(kept);
}

}  // namespace

Decision<CpuBurst::State> CpuBurst::decide(const Snapshot& snap,
                                           const EffectiveConfig& config,
                                           State state) {
  const BurstConfig& cfg = config.burst;
  if (!cfg.enable.value_or(false)) return {{}, State{}};
  if (snap.may_relax) advance_all(state, snap, config);
  state.summary.on = true;
  state.summary.bursting = state.summary.boosted = 0;
  Decision<State> out;
  if (snap.state->node) {
    const auto ratio = ratio_of(snap, config);
    const bool static_open =
        snap.has_cpu_burst && state.last_at && (state.summary.gate_open || !cfg.gate_static);
    for (const auto& pod : snap.state->pods) {
      if (!may_burst(*pod, *snap.state->node)) continue;
      propose_pod(out.proposals, *pod, ratio, pod_burst(*pod, cfg), static_open, state);
    }
  }
  out.state = std::move(state);
  return out;
}

}  // namespace koordlet::policy
