#include "policy/evict.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "policy/be_view.hpp"
#include "policy/evict_choice.hpp"

namespace koordlet::policy {
namespace {

using State = Evict::State;
using Rule = Evict::Rule;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// Nothing that was measured before this counts towards the next victim, of any rule.
void start_over(State& st) {
  for (auto& rule : st.rules) rule.over = 0;
  st.window.clear();
}

bool is_ours(std::string_view plugin) {
  return std::any_of(kAllEvictPlugins.begin(), kAllEvictPlugins.end(), [plugin](EvictPlugin p) {
    return to_string(p) == plugin;
  });
}

void take_outcomes(State& st, const EvictInput& input, const EvictConfig& config) {
  for (const auto& outcome : input.outcomes) {
    if (!is_ours(outcome.wish.plugin)) continue;
    note_outcome(st.ledger, outcome, config);
    if (st.asked && st.asked->uid == outcome.wish.uid) st.asked.reset();
    if (outcome.result == EvictionResult::kAccepted) start_over(st);
  }
}

/// True: it is a new one.
bool take_sample(State& st, const Snapshot& snap, const EffectiveConfig& config) {
  const NodeSignals& signals = *snap.signals;
  if (signals.seq == st.last_seq) return false;
  auto step = std::chrono::duration_cast<milliseconds>(signals.at - st.last_at);
  if (st.last_seq == 0) step = milliseconds{0};
  // Samples with a hole between them are not consecutive.
  if (step > seconds{config.node_stale_seconds}) {
    start_over(st);
    step = milliseconds{0};
  }
  st.last_seq = signals.seq;
  st.last_at = signals.at;
  note_sample(st.ledger, signals, snap.now);
  const bool averages =
      is_enabled(EvictPlugin::kBeCpu, config) || is_enabled(EvictPlugin::kCpu, config);
  if (!averages) {
    st.window.clear();
    return true;
  }
  st.window.add({signals.at, step, signals.node_used, be_load(snap, config)},
                seconds{config.evict.cpu_window_seconds});
  return true;
}

/// Nothing is known or nothing is wrong: what was asked is asked no longer.
void rest(State& st, EvictPlugin plugin, EvictPhase phase, std::string why = {}) {
  if (st.asked && st.asked->plugin == to_string(plugin)) st.asked.reset();
  Rule& rule = st.rule(plugin);
  const int use = rule.use_permyriad;
  rule = Rule{};
  rule.use_permyriad = use;
  rule.phase = phase;
  rule.why = std::move(why);
}

void rest_all(State& st, const EffectiveConfig& config, EvictPhase phase, const std::string& why) {
  for (const auto plugin : kAllEvictPlugins) {
    const bool on = is_enabled(plugin, config);
    rest(st, plugin, on ? phase : EvictPhase::kOff, on ? why : std::string{});
  }
}

/// What every rule needs; "" when all is there.
std::string missing(const Snapshot& snap, const EffectiveConfig& config) {
  if (snap.state->pods_at == MonoTime{}) return "the pods are not known yet";
  if (fresh_signals(snap, config.node_stale_seconds) == nullptr)
    return "no young sample of the node";
  return {};
}

/// A wish that waits is repeated between two samples, as long as its rule is on.
void repeat(Evict::Answer& out, const EffectiveConfig& config, bool api_ok) {
  const State& st = out.state;
  if (!st.asked || !api_ok) return;
  for (const auto plugin : kAllEvictPlugins) {
    if (st.asked->plugin != to_string(plugin) || !is_enabled(plugin, config)) continue;
    if (st.rule(plugin).over >= kEvictSamples) out.wishes.push_back(*st.asked);
  }
}

/// One rule: counts the sample, and names a victim when it is its turn.
void follow(Evict::Answer& out, const EvictTask& task, const EvictScene& scene, bool counted) {
  State& st = out.state;
  Rule& rule = st.rule(task.plugin);
  switch (task.verdict) {
    case EvictTask::Verdict::kOff:
      rule.use_permyriad = 0;
      return rest(st, task.plugin, EvictPhase::kOff);
    case EvictTask::Verdict::kBlind:
      return rest(st, task.plugin, EvictPhase::kBlind, task.why);
    case EvictTask::Verdict::kIdle:
      rule.use_permyriad = task.use_permyriad;
      return rest(st, task.plugin, EvictPhase::kIdle);
    case EvictTask::Verdict::kOver:
      break;
  }
  rule.use_permyriad = task.use_permyriad;
  rule.need = task.need;
  if (counted && ++rule.over == 1) rule.over_since = scene.snap.now;
  if (rule.over == 0) {
    // Nothing was measured since a victim was accepted or has left.
    rule.phase = EvictPhase::kReleasing;
    rule.why = "waits for samples from after the last eviction";
    return;
  }
  if (!scene.api_ok) return rest(st, task.plugin, EvictPhase::kBlind, kNoApi);
  choose_victim(out, task, scene);
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

Evict::Answer Evict::decide(const Snapshot& snap,
                            const EffectiveConfig& config,
                            const EvictInput& input,
                            State state,
                            std::span<const EvictPlugin> order) {
  Answer out;
  out.state = std::move(state);
  State& st = out.state;
  if (!st.started) st.started = snap.now;
  take_outcomes(st, input, config.evict);
  // Pods that are not known have not left.
  if (snap.state->pods_at != MonoTime{} &&
      note_pods(st.ledger, *snap.state, config.evict, snap.now)) {
    start_over(st);
  }
  if (config.off) {
    rest_all(st, config, EvictPhase::kOff, {});
    return out;
  }
  if (!snap.may_relax) {
    repeat(out, config, input.api_ok);
    return out;
  }
  if (auto what = missing(snap, config); !what.empty()) {
    rest_all(st, config, EvictPhase::kBlind, what);
    return out;
  }
  const bool counted = take_sample(st, snap, config);
  std::array<EvictTask, kEvictPlugins> tasks;
  for (const auto plugin : order) {
    tasks[static_cast<std::size_t>(plugin)] = judge(plugin, snap, config, st.window);
  }
  const EvictScene scene{
      snap, config, pending_release(st.ledger, snap, config.evict), input.api_ok, input.softening};
  for (const auto plugin : kAllEvictPlugins) {
    follow(out, tasks[static_cast<std::size_t>(plugin)], scene, counted);
  }
  return out;
}

}  // namespace koordlet::policy
