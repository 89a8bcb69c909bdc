#include "policy/memory_evict.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "policy/be_view.hpp"
#include "policy/memory_evict_victims.hpp"

namespace koordlet::policy {
namespace {

using State = MemoryEvict::State;
using Answer = MemoryEvict::Answer;

/// Oldest sample of a pod that a choice is made on.
constexpr std::chrono::seconds kFreshPods{10};
/// A pod that cannot be measured does not keep the others waiting for longer.
constexpr std::chrono::seconds kMeasureWait{5};
constexpr int kSamples = 2;

bool is_over(Bytes used, int percent, Bytes total) {
  return Wide{used.v} * 100 >= Wide{total.v} * percent;
}

Bytes share(Bytes total, int percent) {
  return {static_cast<std::int64_t>(Wide{total.v} * percent / 100)};
}

void stand(State& st, EvictPhase phase, std::string why = {}) {
  st.phase = phase;
  st.why = std::move(why);
}

/// Nothing is known or nothing is wrong: what was asked is asked no longer.
void rest(State& st, EvictPhase phase, std::string why = {}) {
  st.over = 0;
  st.asked.reset();
  st.measuring_since.reset();
  st.need = st.pending = st.reachable = Bytes{};
  st.candidates = 0;
  stand(st, phase, std::move(why));
}

std::string use_text(const State& st, const MemoryEvictConfig& cfg) {
  return fmt::format("node memory {}.{:02} % >= {} %",
                     st.use_permyriad / 100,
                     st.use_permyriad % 100,
                     cfg.threshold_percent);
}

/// Nothing that was measured before this counts towards the next victim.
void start_over(State& st) { st.over = 0; }

void take_outcomes(State& st, const EvictInput& input, const MemoryEvictConfig& cfg) {
  for (const auto& outcome : input.outcomes) {
    if (outcome.wish.plugin != MemoryEvict::kName) continue;
    note_outcome(st.ledger, outcome, cfg);
    if (st.asked && st.asked->uid == outcome.wish.uid) st.asked.reset();
    if (outcome.result == EvictionResult::kAccepted) start_over(st);
  }
}

/// Counts the sample if it is a new one.
void take_sample(State& st,
                 const NodeSignals& signals,
                 const EffectiveConfig& config,
                 MonoTime now) {
  if (signals.seq == st.last_seq) return;
  // Samples with a hole between them are not consecutive.
  const auto gap = signals.at - st.last_at;
  if (gap > std::chrono::seconds{config.node_stale_seconds}) start_over(st);
  st.last_seq = signals.seq;
  st.last_at = signals.at;
  note_sample(st.ledger, signals, now);
  const Bytes used = *signals.memory_used, total = *signals.memory_total;
  st.use_permyriad = static_cast<int>(std::clamp<Wide>(Wide{used.v} * 10'000 / total.v, 0, 10'000));
  const MemoryEvictConfig& cfg = config.memory_evict;
  if (!is_over(used, cfg.threshold_percent, total)) {
    rest(st, EvictPhase::kIdle);
    return;
  }
  st.need = used - share(total, cfg.lower());
  if (st.need.v <= 0) {
    rest(st, EvictPhase::kIdle);
    return;
  }
  if (++st.over == 1) st.over_since = now;
}

EvictionWish make_wish(const State& st,
                       const EvictCandidate& victim,
                       const MemoryEvictConfig& cfg,
                       Bytes used) {
  EvictionWish wish;
  wish.uid = victim.pod->uid;
  wish.ns = victim.pod->ns;
  wish.name = victim.pod->name;
  wish.plugin = MemoryEvict::kName;
  wish.bytes = *victim.memory;
  wish.since = st.over_since;
  wish.owner = victim.owner;
  wish.node_used = used;
  wish.reason = fmt::format(
      "{}: {} over the lower mark {} %, {} on the way out; this pod holds {}, "
      "first of {} that hold {}",
      use_text(st, cfg),
      bytes_text(st.need),
      cfg.lower(),
      bytes_text(st.pending),
      bytes_text(wish.bytes),
      st.candidates,
      bytes_text(st.reachable));
  return wish;
}

/// The victim that was named keeps its place while it may still be one.
const EvictCandidate& choose(const State& st, const Victims& victims) {
  const auto& usable = victims.usable;
  if (st.asked) {
    const auto same = std::find_if(usable.begin(), usable.end(), [&](const EvictCandidate& c) {
      return c.pod->uid == st.asked->uid;
    });
    if (same != usable.end()) return *same;
  }
  return usable.front();
}

/// Two samples agree that the node is over: who goes?
void name_victim(Answer& out,
                 const Snapshot& snap,
                 const MemoryEvictConfig& cfg,
                 const Victims& victims) {
  State& st = out.state;
  const Bytes used = *snap.signals->memory_used, total = *snap.signals->memory_total;
  const auto text = use_text(st, cfg);
  const bool own = !st.ledger.victims.empty();
  if (own || st.pending >= st.need) {
    stand(st,
          EvictPhase::kReleasing,
          fmt::format(
              "{}: {} of {} on the way out", text, bytes_text(st.pending), bytes_text(st.need)));
  } else if (const auto bar = node_bar(st.ledger, cfg, snap.now); !bar.empty()) {
    stand(st, EvictPhase::kHeld, fmt::format("{}: {}", text, bar));
  } else if (victims.stale > 0 && snap.now - *st.measuring_since < kMeasureWait) {
    stand(st,
          EvictPhase::kMeasuring,
          fmt::format("{}: {} pods without a sample of the last {} s",
                      text,
                      victims.stale,
                      kFreshPods.count()));
  } else if (victims.usable.empty()) {
    stand(st,
          victims.held > 0 ? EvictPhase::kHeld : EvictPhase::kNoVictim,
          fmt::format("{}: no pod may be evicted now, {} are held, {} are not measured",
                      text,
                      victims.held,
                      victims.stale));
  } else if (cfg.require_rescue &&
             is_over(used - st.pending - victims.sum, cfg.threshold_percent, total)) {
    stand(st,
          EvictPhase::kHopeless,
          fmt::format("{}: all {} victims hold {}, which would not get the node under it",
                      text,
                      st.candidates,
                      bytes_text(victims.sum)));
  } else {
    auto wish = make_wish(st, choose(st, victims), cfg, used);
    stand(st, EvictPhase::kAsking, wish.reason);
    out.wishes.push_back(wish);
    st.asked = std::move(wish);
    return;
  }
  st.asked.reset();
}

/// The node is over the threshold.
void act(Answer& out, const Snapshot& snap, const EffectiveConfig& config) {
  State& st = out.state;
  const MemoryEvictConfig& cfg = config.memory_evict;
  const auto victims = find_victims(snap, config, st.ledger, MemoryEvict::kFeature, kFreshPods);
  st.pending = pending_release(st.ledger, snap, cfg);
  st.reachable = victims.sum;
  st.candidates = static_cast<int>(victims.usable.size());
  // Asked for with the first sample over: the numbers are there when the second one confirms it.
  out.want_fresh_pods = victims.stale > 0;
  if (!out.want_fresh_pods) {
    st.measuring_since.reset();
  } else if (!st.measuring_since) {
    st.measuring_since = snap.now;
  }
  if (st.over < kSamples) {
    st.asked.reset();
    stand(st, EvictPhase::kConfirming, use_text(st, cfg));
    return;
  }
  name_victim(out, snap, cfg, victims);
}

/// What is missing to decide anything; "" when all is there.
std::string missing(const Snapshot& snap, const EffectiveConfig& config) {
  if (snap.state->pods_at == MonoTime{}) return "the pods are not known yet";
  const NodeSignals* signals = fresh_signals(snap, config.node_stale_seconds);
  if (signals == nullptr) return "no young sample of the node's memory";
  if (!signals->memory_used || !signals->memory_total || signals->memory_total->v <= 0) {
    return "the node's memory is unknown";
  }
  return {};
}

}  // namespace

std::string_view to_string(EvictPhase p) {
  switch (p) {
    case EvictPhase::kOff:
      return "off";
    case EvictPhase::kBlind:
      return "blind";
    case EvictPhase::kIdle:
      return "idle";
    case EvictPhase::kConfirming:
      return "confirming";
    case EvictPhase::kMeasuring:
      return "measuring";
    case EvictPhase::kReleasing:
      return "releasing";
    case EvictPhase::kHeld:
      return "held";
    case EvictPhase::kNoVictim:
      return "no-victim";
    case EvictPhase::kHopeless:
      return "hopeless";
    case EvictPhase::kAsking:
      return "asking";
  }
  return "?";
}

std::string bytes_text(Bytes bytes) {
  struct Unit {
    const char* name;
    std::int64_t size;
  };
  for (const auto& unit :
       {Unit{"GiB", 1ll << 30}, Unit{"MiB", 1ll << 20}, Unit{"KiB", 1ll << 10}}) {
    if (bytes.v < unit.size) continue;
    const auto tenths = static_cast<std::int64_t>(Wide{bytes.v} * 10 / unit.size);
    return fmt::format("{}.{} {}", tenths / 10, tenths % 10, unit.name);
  }
  return fmt::format("{} B", bytes.v);
}

MemoryEvict::Answer MemoryEvict::decide(const Snapshot& snap,
                                        const EffectiveConfig& config,
                                        const EvictInput& input,
                                        State state) {
  Answer out;
  out.state = std::move(state);
  State& st = out.state;
  const MemoryEvictConfig& cfg = config.memory_evict;
  take_outcomes(st, input, cfg);
  // Pods that are not known have not left.
  if (snap.state->pods_at != MonoTime{} && note_pods(st.ledger, *snap.state, cfg, snap.now)) {
    start_over(st);
  }
  if (config.off || !cfg.enable) {
    rest(st, EvictPhase::kOff);
    return out;
  }
  if (!snap.may_relax) {
    if (st.asked && st.over >= kSamples && input.api_ok) out.wishes.push_back(*st.asked);
    return out;
  }
  if (auto what = missing(snap, config); !what.empty()) {
    rest(st, EvictPhase::kBlind, std::move(what));
    return out;
  }
  take_sample(st, *snap.signals, config, snap.now);
  if (st.over == 0) {
    // Nothing was measured since a victim was accepted or has left.
    if (st.phase != EvictPhase::kIdle) {
      stand(st, EvictPhase::kReleasing, "waits for samples from after the last eviction");
    }
    return out;
  }
  if (!input.api_ok) {
    rest(st, EvictPhase::kBlind, "the API server does not answer");
    return out;
  }
  act(out, snap, config);
  return out;
}

}  // namespace koordlet::policy
