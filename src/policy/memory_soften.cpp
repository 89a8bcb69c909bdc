#include "policy/memory_soften.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "policy/be_view.hpp"
#include "policy/evict_task.hpp"
#include "policy/memory_values.hpp"

namespace koordlet::policy {
namespace {

using State = MemorySoften::State;

constexpr std::int64_t kPage = 4096;
/// A class is not squeezed below this, whatever its pods asked for: a limit of nearly nothing
/// stops them altogether.
constexpr std::int64_t kLeastHigh = std::int64_t{64} << 20;

struct Inputs {
  Bytes used, total;  ///< of the node
  Bytes be;           ///< of the BE root
  Bytes floor;
};

/// Percent points against the eviction threshold.
struct Marks {
  int limit, start, lift, far;
};

bool at_least(Bytes used, int percent, Bytes total) {
  return Wide{used.v} * 100 >= Wide{total.v} * percent;
}

Bytes requests_below(const Snapshot& snap) {
  Wide sum = 0;
  for (const auto& pod : snap.state->pods) {
    if (!is_active(*pod) || !snap.be_root->path.is_ancestor_of(pod->cgroup)) continue;
    sum += memory_ask(*pod).request.v;
  }
  const Wide floor = std::max<Wide>(sum, kLeastHigh);
  return {static_cast<std::int64_t>(std::min<Wide>(floor, std::int64_t{1} << 62))};
}

std::string missing(const Snapshot& snap, int stale_seconds) {
  const NodeSignals* signals = fresh_signals(snap, stale_seconds);
  if (signals == nullptr) return "no young sample of the node's memory";
  if (!signals->memory_used || !signals->memory_total || signals->memory_total->v <= 0) {
    return "the node's memory is unknown";
  }
  if (snap.state->pods_at == MonoTime{}) return "the pods are not known yet";
  if (!snap.be_root) return "no BE root";
  if (!snap.be_root->memory) return "the memory of the BE root is unknown";
  return {};
}

void lift(State& st) {
  st.high.reset();
  st.stepped_at.reset();
  st.reclaim.reset();
  st.phase = SoftenPhase::kIdle;
  st.why.clear();
}

/// use - min(need, step_percent of use), in whole pages, within the floor and the last step.
void step(State& st, const Inputs& in, const Marks& marks, const MemorySoftenConfig& cfg) {
  const Wide need = Wide{in.used.v} - Wide{in.total.v} * marks.lift / 100;
  const Wide most = Wide{in.be.v} * cfg.step_percent / 100;
  const Wide next = Wide{in.be.v} - std::min(need, most);
  Bytes high{static_cast<std::int64_t>(std::max<Wide>(next, 0)) / kPage * kPage};
  if (st.high) high = std::min(high, *st.high);
  st.high = std::max(high, in.floor);
  ++st.steps;
}

/// The last step's limit did not bring BE down: the kernel is asked for the rest itself.
void ask_reclaim(State& st, const Inputs& in, const CgroupPath& root, Bytes most, MonoTime now) {
  if (!st.can_reclaim || !st.high || in.be <= *st.high) return;
  const Bytes over = in.be - *st.high;
  const Bytes amount{std::min(over, most).v / kPage * kPage};
  if (amount.v == 0) return;
  st.reclaim = ReclaimWish{
      now,
      root,
      amount,
      fmt::format(
          "BE uses {}, {} over its limit of the last step", bytes_text(in.be), bytes_text(over))};
  ++st.reclaims;
}

/// Squeezes, or keeps what holds; returns whether there is more to take.
void soften(State& st,
            const Inputs& in,
            const Marks& marks,
            const MemorySoftenConfig& cfg,
            const Snapshot& snap) {
  const MonoTime now = snap.now;
  const bool start = at_least(in.used, marks.start, in.total);
  if (!st.high && !start) return lift(st);
  if (st.high && !at_least(in.used, marks.lift, in.total)) return lift(st);
  const bool due = !st.stepped_at || now - *st.stepped_at >= std::chrono::seconds{cfg.step_seconds};
  if (start && due) {
    ask_reclaim(st, in, snap.be_root->path, cfg.reclaim, now);
    step(st, in, marks, cfg);
    st.stepped_at = now;
  }
  st.high = std::max(*st.high, in.floor);
  st.phase = in.be <= in.floor ? SoftenPhase::kAtFloor : SoftenPhase::kSoftening;
  const Wide hundredths = Wide{in.used.v} * 10'000 / in.total.v;
  st.why =
      fmt::format("node memory {}.{:02} % (from {} %, lifted below {} %): BE uses {}, floor {}",
                  static_cast<std::int64_t>(hundredths / 100),
                  static_cast<std::int64_t>(hundredths % 100),
                  marks.start,
                  marks.lift,
                  bytes_text(in.be),
                  bytes_text(in.floor));
}

void note_patience(
    State& st, const Inputs& in, const Marks& marks, const MemorySoftenConfig& cfg, MonoTime now) {
  st.hold_until.reset();
  if (!at_least(in.used, marks.limit, in.total)) {
    st.over_since.reset();
    return;
  }
  if (!st.over_since) st.over_since = now;
  const bool far = at_least(in.used, marks.far, in.total);
  if (st.phase != SoftenPhase::kSoftening || far) return;
  st.hold_until = *st.over_since + std::chrono::seconds{cfg.patience_seconds};
}

void rest(State& st, SoftenPhase phase, std::string why) {
  st = State{};
  st.phase = phase;
  st.why = std::move(why);
}

void evaluate(State& st, const Snapshot& snap, const EffectiveConfig& config) {
  const MemorySoftenConfig& cfg = config.memory_soften;
  if (auto what = missing(snap, config.node_stale_seconds); !what.empty()) {
    st.phase = SoftenPhase::kBlind;
    st.why = std::move(what);
    st.over_since.reset();
    st.hold_until.reset();
    if (!snap.be_root) st.high.reset();
    return;
  }
  if (snap.signals->seq == st.last_seq) return;
  st.last_seq = snap.signals->seq;
  const int limit = config.memory_evict.threshold_percent;
  const Marks marks{
      limit, limit - cfg.start_points, limit - cfg.lift_points, limit + cfg.over_points};
  const Inputs in{*memory_in_use(snap),
                  *snap.signals->memory_total,
                  *snap.be_root->memory,
                  requests_below(snap)};
  st.floor = in.floor;
  st.can_reclaim = snap.has_memory_reclaim;
  soften(st, in, marks, cfg, snap);
  note_patience(st, in, marks, cfg, snap.now);
}

}  // namespace

std::string_view to_string(SoftenPhase p) {
  switch (p) {
    case SoftenPhase::kOff:
      return "off";
    case SoftenPhase::kUnsupported:
      return "unsupported";
    case SoftenPhase::kBlind:
      return "blind";
    case SoftenPhase::kIdle:
      return "idle";
    case SoftenPhase::kSoftening:
      return "softening";
    case SoftenPhase::kAtFloor:
      return "at-floor";
  }
  return "?";
}

Decision<MemorySoften::State> MemorySoften::decide(const Snapshot& snap,
                                                   const EffectiveConfig& config,
                                                   State state) {
  Decision<State> out;
  if (!config.memory_soften.enable.value_or(false)) {
    return out;
  } else if (snap.cgroup_version == CgroupVersion::kV1) {
    rest(state, SoftenPhase::kUnsupported, "cgroup v1 has no memory.high");
  } else if (config.memory_evict.threshold_percent <= config.memory_soften.lift_points) {
    rest(state,
         SoftenPhase::kOff,
         fmt::format("the eviction threshold {} % leaves no room below it",
                     config.memory_evict.threshold_percent));
  } else if (snap.may_relax) {
    evaluate(state, snap, config);
  }
  if (state.high && snap.be_root) {
    Proposal p;
    p.key = {snap.be_root->path, CgroupFile::kMemoryHigh};
    p.value = MemoryBound{*state.high};
    p.role = Role::kCap;
    p.plugin = kName;
    p.reason = state.why;
    out.proposals.push_back(std::move(p));
  }
  out.state = std::move(state);
  return out;
}

bool softening_holds(const MemorySoften::State& state, MonoTime now) {
  return state.hold_until && now < *state.hold_until;
}

}  // namespace koordlet::policy
