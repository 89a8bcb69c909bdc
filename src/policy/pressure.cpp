#include "policy/pressure.hpp"

#include <algorithm>
#include <limits>

#include "policy/be_view.hpp"
#include "policy/pressure_caps.hpp"

namespace koordlet::policy {
namespace {

/// A step that an escalation follows this soon is held to be its cause.
constexpr std::chrono::seconds kRelaxWatch{3};
/// The pods' own signals come in windows of 10 s, the last of which ended up to 10 s ago.
constexpr std::chrono::seconds kRaisedWatch{25};
constexpr int kSettleSamples = 2;

int factor_of(Level level, const PressureConfig& cfg) {
  switch (level) {
    case Level::kNone:
      return cfg.factor_none_permille;
    case Level::kMid:
      return cfg.factor_mid_permille;
    case Level::kHigh:
      return cfg.factor_high_permille;
  }
  return cfg.factor_high_permille;
}

int enter_percent(Level level, const PressureConfig& cfg) {
  return level == Level::kHigh ? cfg.high_percent : cfg.mid_percent;
}

/// One sample, ready to be judged.
struct Sample {
  const NodeSignals& signals;
  MilliCpu capacity;
  MilliCpu used;  ///< within 0..capacity
  MonoTime now;
  Level asked = Level::kNone;  ///< by use and by what the latency-sensitive pods feel
  bool raised = false;         ///< the latter asks for more
};

Level level_by_use(MilliCpu used, MilliCpu capacity, const PressureConfig& cfg) {
  if (at_least_percent(used, cfg.high_percent, capacity)) return Level::kHigh;
  if (at_least_percent(used, cfg.mid_percent, capacity)) return Level::kMid;
  return Level::kNone;
}

void set_level(Pressure::State& st, Level level, MonoTime now) {
  st.level = level;
  st.below_exit = 0;
  st.level_since = now;
}

bool escalate(Pressure::State& st, const Sample& s, const PressureConfig& cfg) {
  if (s.asked <= st.level) return false;
  set_level(st, s.asked, s.now);
  const auto watch = s.raised ? kRaisedWatch : kRelaxWatch;
  if (cfg.hold_doubling && st.relaxed_at && s.now - *st.relaxed_at <= watch) {
    st.factor_permille = std::min(st.factor_permille, st.last_good_factor);
    st.hold_seconds = st.hold_seconds == 0 ? cfg.min_hold_seconds
                                           : std::min(2 * st.hold_seconds, cfg.max_hold_seconds);
    st.hold_until = s.now + std::chrono::seconds{st.hold_seconds};
  }
  st.relaxed_at.reset();
  return true;
}

void count_exit(Pressure::State& st, const Sample& s, const PressureConfig& cfg) {
  const int exit = enter_percent(st.level, cfg) - cfg.exit_margin_percent;
  const bool still_asked = s.raised && s.asked >= st.level;
  if (st.level == Level::kNone || still_asked || at_least_percent(s.used, exit, s.capacity)) {
    st.below_exit = 0;
    return;
  }
  if (++st.below_exit < cfg.relax_hold_samples) return;
  set_level(st, st.level == Level::kHigh ? Level::kMid : Level::kNone, s.now);
}

/// Would factor `next` keep the node under the next level? A BE class that fills 95 % of its caps
/// is expected to fill the new ones too.
bool guard_allows(const Pressure::State& st,
                  int next,
                  const Sample& s,
                  const BePods& pods,
                  const PressureConfig& cfg) {
  if (st.level == Level::kHigh) return true;
  Wide requests = 0;
  for (const auto& p : pods.capped) requests += p.request.v;
  // Everything below is in 1/1000 milli-core, so that no factor is rounded.
  const Wide cap_now = requests * st.factor_permille;
  const Wide cap_next = requests * next;
  const Wide used = Wide{s.used.v} * 1000;
  Wide predicted = 0;
  if (!s.signals.be_used) {
    predicted = used + cap_next - cap_now;  // BE use unknown: as if the caps were full
  } else {
    const Wide be = Wide{(*s.signals.be_used + s.signals.be_outside_used).v} * 1000;
    const bool full = be * 100 >= cap_now * 95;
    // Use of pods without a cap of their own is in `be` as well, and stays.
    const Wide be_next = !full ? be : pods.uncapped.empty() ? cap_next : be + cap_next - cap_now;
    predicted = std::max<Wide>(used - be, 0) + be_next;
  }
  const Level above = st.level == Level::kNone ? Level::kMid : Level::kHigh;
  return predicted * 100 < Wide{s.capacity.v} * 1000 * enter_percent(above, cfg);
}

bool in_hold(Pressure::State& st, MonoTime now, const PressureConfig& cfg) {
  if (!cfg.hold_doubling || !st.hold_until) return false;
  if (now < *st.hold_until) return true;
  if (now - *st.hold_until >= std::chrono::seconds{cfg.max_hold_seconds}) {
    st.hold_seconds = 0;
    st.hold_until.reset();
  }
  return false;
}

void relax(Pressure::State& st, const Sample& s, const BePods& pods, const PressureConfig& cfg) {
  if (st.settle_samples > 0 && --st.settle_samples > 0) return;
  const bool held = in_hold(st, s.now, cfg);
  const int target = factor_of(st.level, cfg);
  if (held || target <= st.factor_permille) return;
  const int next = std::min(target, st.factor_permille + cfg.relax_step_permille);
  if (cfg.relax_guard && !guard_allows(st, next, s, pods, cfg)) return;
  st.last_good_factor = st.factor_permille;
  st.relaxed_at = s.now;
  st.factor_permille = next;
}

/// 1/100 %, not limited to 100 %.
int permyriad(MilliCpu used, MilliCpu capacity) {
  const Wide v = Wide{used.v} * 10'000 / capacity.v;
  return static_cast<int>(std::clamp<Wide>(v, 0, std::numeric_limits<int>::max()));
}

void evaluate(Pressure::State& st,
              const Sample& s,
              const BePods& pods,
              const PressureConfig& cfg,
              bool may_relax) {
  if (!st.decided) st.level_since = s.now;
  st.decided = true;
  st.use_permyriad = permyriad(s.signals.node_used, s.capacity);
  if (!escalate(st, s, cfg) && may_relax) count_exit(st, s, cfg);
  st.factor_permille = std::min(st.factor_permille, factor_of(st.level, cfg));
  if (may_relax) relax(st, s, pods, cfg);
}

}  // namespace

Decision<Pressure::State> Pressure::decide(const Snapshot& snap,
                                           const EffectiveConfig& config,
                                           State state) {
  const PressureConfig& cfg = config.pressure;
  if (config.off || !cfg.enable) return {{}, State{}};
  const BePods pods = be_pods(snap, cfg.default_request_milli, config.hands_off_namespaces);
  const auto capacity = capacity_of(snap);
  const NodeSignals* signals = fresh_signals(snap, config.node_stale_seconds);
  if (signals != nullptr && capacity) {
    const bool is_new = !snap.may_relax || signals->seq != state.last_seq;
    if (is_new) {
      const MilliCpu used = std::clamp(signals->node_used, MilliCpu{}, *capacity);
      state.by_use = level_by_use(used, *capacity, cfg);
      state.raise = raise(snap, cfg, *signals, *capacity, state.by_use, std::move(state.raise));
      const bool raised = state.raise.level > state.by_use;
      const Level asked = raised ? state.raise.level : state.by_use;
      evaluate(state,
               Sample{*signals, *capacity, used, snap.now, asked, raised},
               pods,
               cfg,
               snap.may_relax);
      if (snap.may_relax) state.last_seq = signals->seq;
    }
    update_root_cap(state, snap, config, pods, *signals, *capacity, is_new);
  }
  state.uncapped.clear();
  for (const Pod* pod : pods.uncapped) state.uncapped.push_back(pod->uid);
  if (!pods.uncapped_below_root) state.root_cap = MilliCpu{};
  Decision<State> out;
  if (state.decided) out.proposals = pressure_caps(state, snap, cfg, pods);
  out.state = std::move(state);
  return out;
}

Pressure::State Pressure::adopt(const std::vector<AdoptedPod>& pods,
                                const PressureConfig& config,
                                MonoTime now) {
  State st;
  st.decided = true;
  st.settle_samples = kSettleSamples;
  st.level_since = now;
  st.factor_permille = 1000;
  for (const auto& pod : pods) {
    if (pod.request.v <= 0) continue;
    const Wide factor = Wide{pod.quota.count()} * 10 / pod.request.v;
    st.factor_permille = static_cast<int>(std::clamp<Wide>(factor, 0, st.factor_permille));
  }
  for (const Level level : {Level::kHigh, Level::kMid}) {
    if (factor_of(level, config) < st.factor_permille) continue;
    st.level = level;
    break;
  }
  st.last_good_factor = st.factor_permille;
  return st;
}

}  // namespace koordlet::policy
