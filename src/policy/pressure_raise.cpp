#include "policy/pressure_raise.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "policy/be_view.hpp"

namespace koordlet::policy {
namespace {

/// Windows come each 10 s; after three that did not come the last one means nothing.
constexpr std::chrono::seconds kSignalStale{30};

/// What one pod asks for, and by which of its signals.
struct Ask {
  Level level = Level::kNone;
  double value = 0;
  bool by_psi = false;
};

Level level_of(double value, int mid, int high) {
  if (value >= high) return Level::kHigh;
  return value >= mid ? Level::kMid : Level::kNone;
}

/// Stall that is not of the pod's own making: time in its own throttling stalls all its tasks too.
std::optional<double> stall_of(const LsSignal& s) {
  if (!s.cpu_full_percent) return std::nullopt;
  const double own = s.throttled ? static_cast<double>(s.throttled->v) / 10 : 0;
  return std::max(*s.cpu_full_percent - own, 0.0);
}

Ask ask_of(const LsSignal& s, const PressureConfig& cfg) {
  Ask out;
  if (const auto stall = stall_of(s); stall && cfg.raise_by_psi) {
    out = {level_of(*stall, cfg.psi_mid_percent, cfg.psi_high_percent), *stall, true};
  }
  if (s.be_degree && cfg.raise_by_interference) {
    const auto level = level_of(*s.be_degree, cfg.degree_mid, cfg.degree_high);
    if (level > out.level) out = {level, static_cast<double>(*s.be_degree), false};
  }
  return out;
}

bool be_can_be_the_cause(const NodeSignals& signals, MilliCpu capacity, const PressureConfig& cfg) {
  if (!signals.be_used) return false;
  return at_least_percent(
      *signals.be_used + signals.be_outside_used, cfg.raise_min_be_percent, capacity);
}

double same_signal(const LsSignal& s, bool by_psi) {
  if (by_psi) return stall_of(s).value_or(0);
  return s.be_degree.value_or(0);
}

/// True when the pod is found not to be hurt by best effort: a whole window after the raise, and
/// its signal is still over three quarters of what it was.
bool failed_trial(const LsSignal& s, RaiseState::Trial& trial) {
  if (s.at - s.window < trial.since || s.at - trial.since < kRaiseTrial) return false;
  const double now = same_signal(s, trial.by_psi);
  if (now > trial.value * 0.75) return true;
  trial.since = s.at;  // it helps: the next trial starts from here
  trial.value = std::max(now, 1.0);
  return false;
}

std::string reason_text(const Pod* pod, const LsSignal& s, const Ask& ask) {
  const auto name = pod != nullptr ? full_name(*pod) : s.uid;
  if (!ask.by_psi) {
    return fmt::format("pod {}: interference by best effort {:.0f} of 100", name, ask.value);
  }
  return fmt::format("pod {}: CPU stall {:.1f} % of the time{}",
                     name,
                     ask.value,
                     s.throttled && s.throttled->v > 0
                         ? fmt::format(" (without its own throttling {:.1f} %)",
                                       static_cast<double>(s.throttled->v) / 10)
                         : "");
}

}  // namespace

std::string_view to_string(Level l) {
  switch (l) {
    case Level::kNone:
      return "NONE";
    case Level::kMid:
      return "MID";
    case Level::kHigh:
      return "HIGH";
  }
  return "?";
}

RaiseState raise(const Snapshot& snap,
                 const PressureConfig& config,
                 const NodeSignals& signals,
                 MilliCpu capacity,
                 Level by_use,
                 RaiseState state) {
  RaiseState out;
  out.ignored = std::move(state.ignored);
  std::erase_if(out.ignored, [&](const auto& entry) { return snap.now >= entry.second; });
  if (!be_can_be_the_cause(signals, capacity, config)) return out;
  double most = 0;
  for (const auto& s : snap.ls_signals) {
    if (snap.now - s.at > kSignalStale || out.ignored.contains(s.uid)) continue;
    const auto known = state.trials.find(s.uid);
    if (known != state.trials.end() && failed_trial(s, known->second)) {
      out.ignored[s.uid] = snap.now + kNotCausedByBe;
      continue;
    }
    const Ask ask = ask_of(s, config);
    if (ask.level <= by_use) continue;
    out.trials[s.uid] = known != state.trials.end()
                            ? known->second
                            : RaiseState::Trial{snap.now, ask.value, ask.by_psi};
    if (ask.level < out.level || (ask.level == out.level && ask.value <= most)) continue;
    most = ask.value;
    out.level = ask.level;
    out.uid = s.uid;
    out.reason = reason_text(find_pod(*snap.state, s.uid), s, ask);
  }
  return out;
}

}  // namespace koordlet::policy
