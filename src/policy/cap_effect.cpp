#include "policy/cap_effect.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace koordlet::policy {
namespace {

using std::chrono::seconds;

constexpr std::array kSignals{EffectSignal::kDegree,
                              EffectSignal::kPsiFull,
                              EffectSignal::kPsiSome,
                              EffectSignal::kRunQueueP95};
/// Windows follow each other with some jitter: one that ended a little earlier still counts.
constexpr seconds kJitter{2};
/// Longer than the time before, the settling and the patience together.
constexpr seconds kKeepWindows{60};

std::optional<double> value_of(const LsSignal& s, EffectSignal signal) {
  switch (signal) {
    case EffectSignal::kDegree:
      return s.degree ? std::optional<double>{*s.degree} : std::nullopt;
    case EffectSignal::kPsiFull:
      return s.cpu_full_percent;
    case EffectSignal::kPsiSome:
      return s.cpu_some_percent;
    case EffectSignal::kRunQueueP95:
      if (!s.wait_p95) return std::nullopt;
      return std::chrono::duration<double, std::micro>(*s.wait_p95).count();
  }
  return std::nullopt;
}

/// Below it a signal is noise: nothing hurts, and nothing can get better.
double quiet_below(EffectSignal signal) {
  switch (signal) {
    case EffectSignal::kDegree:
      return 5;
    case EffectSignal::kPsiFull:
    case EffectSignal::kPsiSome:
      return 1;
    case EffectSignal::kRunQueueP95:
      return 1000;
  }
  return 0;
}

/// Mean over the windows that `wanted` picks; nullopt: none of them knows the signal.
template <class Wanted>
std::optional<double> mean(const std::deque<LsSignal>& windows,
                           EffectSignal signal,
                           Wanted wanted) {
  double sum = 0;
  int count = 0;
  for (const auto& w : windows) {
    const auto value = wanted(w) ? value_of(w, signal) : std::nullopt;
    if (!value) continue;
    sum += *value;
    ++count;
  }
  return count > 0 ? std::optional{sum / count} : std::nullopt;
}

void keep(const Snapshot& snap, const CapView& view, EffectState& st) {
  if (snap.signals && (st.recent.empty() || st.recent.back().seq != snap.signals->seq)) {
    st.recent.push_back({snap.signals->seq, snap.now, snap.signals->node_used, view.class_cap});
    if (st.open && snap.signals->at > st.open->settled &&
        snap.signals->at <= st.open->settled + kEffectSpan) {
      st.after_sum = st.after_sum + snap.signals->node_used;
      ++st.after_count;
    }
  }
  while (!st.recent.empty() && snap.now - st.recent.front().at > kEffectSpan) {
    st.recent.pop_front();
  }
  for (const auto& s : snap.ls_signals) {
    auto& kept = st.windows[s.uid];
    if (kept.empty() || kept.back().at < s.at) kept.push_back(s);
  }
  for (auto& [uid, kept] : st.windows) {
    while (!kept.empty() && snap.now - kept.front().at > kKeepWindows) kept.pop_front();
  }
  std::erase_if(st.windows, [](const auto& entry) { return entry.second.empty(); });
}

/// What was cut since the last step; "" nothing.
std::string cut_text(const Snapshot& snap, const CapView& now, const EffectState& st) {
  const CapView& last = *st.last;
  std::string out;
  if (now.level > last.level) {
    out = fmt::format("level {} to {}", to_string(last.level), to_string(now.level));
  }
  if (now.factor_permille < last.factor_permille) {
    out += fmt::format("{}factor {} to {} permille",
                       out.empty() ? "" : ", ",
                       last.factor_permille,
                       now.factor_permille);
  }
  if (!now.class_cap) return out;
  if (!last.class_cap) {
    const bool bites =
        snap.signals && snap.signals->be_used && *now.class_cap < *snap.signals->be_used;
    if (!bites) return out;
    return out + fmt::format(
                     "{}cap of the BE root none to {}m", out.empty() ? "" : ", ", now.class_cap->v);
  }
  MilliCpu most = *last.class_cap;
  // A cut that is being judged begins a new count.
  for (const auto& s : st.recent) {
    if (!st.open && s.class_cap) most = std::max(most, *s.class_cap);
  }
  if (now.class_cap->v * 10 > most.v * 9) return out;
  return out +
         fmt::format(
             "{}cap of the BE root {}m to {}m", out.empty() ? "" : ", ", most.v, now.class_cap->v);
}

std::optional<MilliCpu> mean_use(const EffectState& st) {
  if (st.recent.empty()) return std::nullopt;
  std::int64_t sum = 0;
  for (const auto& s : st.recent) sum += s.used.v;
  return MilliCpu{sum / static_cast<std::int64_t>(st.recent.size())};
}

void begin(const Snapshot& snap, std::string trigger, EffectState& st) {
  CapEffect e;
  e.since = snap.now;
  e.settled = snap.now + kEffectSettle;
  e.trigger = std::move(trigger);
  e.node_before = mean_use(st);
  const auto before = [&](const LsSignal& w) {
    return w.at <= snap.now && w.at >= snap.now - kEffectSpan - kJitter;
  };
  for (const auto signal : kSignals) {
    SignalChange worst{signal, {}, std::nullopt, std::nullopt};
    for (const auto& [uid, windows] : st.windows) {
      const auto value = mean(windows, signal, before);
      if (!value || (worst.before && *value <= *worst.before)) continue;
      worst.uid = uid;
      worst.before = value;
    }
    if (worst.before) e.signals.push_back(std::move(worst));
  }
  st.open = std::move(e);
  st.before = st.last;
  st.after_sum = MilliCpu{};
  st.after_count = 0;
}

/// Fills what is known after the cut; true when every signal has its second half.
bool measure_after(EffectState& st) {
  CapEffect& e = *st.open;
  if (st.after_count > 0) e.node_after = MilliCpu{st.after_sum.v / st.after_count};
  bool all = true;
  for (auto& change : e.signals) {
    const auto windows = st.windows.find(change.uid);
    if (windows != st.windows.end()) {
      change.after = mean(windows->second, change.signal, [&](const LsSignal& w) {
        return w.window.count() > 0 && w.at - w.window >= e.settled;
      });
    }
    all = all && change.after.has_value();
  }
  return all;
}

EffectVerdict compare(const SignalChange& c) {
  const double quiet = quiet_below(c.signal);
  const double step = *c.after - *c.before;
  if (step <= -quiet && *c.after <= *c.before * 0.75) return EffectVerdict::kHelped;
  if (step >= quiet && *c.after >= *c.before * 1.25) return EffectVerdict::kWorse;
  return EffectVerdict::kNoChange;
}

void give_verdict(CapEffect& e) {
  for (const auto& change : e.signals) {
    if (!change.before || !change.after) continue;
    const bool quiet = std::max(*change.before, *change.after) < quiet_below(change.signal);
    // A quiet one leads only while no other says more.
    if (!e.lead || !quiet) e.lead = change;
    if (!quiet) break;
  }
  if (!e.lead) {
    e.verdict = EffectVerdict::kUnknown;
    e.why = e.signals.empty() ? "no signal of a latency-sensitive pod was known before the cut"
                              : "no window of the pod came after the cut";
    return;
  }
  e.verdict = compare(*e.lead);
  e.why = fmt::format("{} of pod {}: {:.1f} before, {:.1f} after ({})",
                      to_string(e.lead->signal),
                      e.lead->uid,
                      *e.lead->before,
                      *e.lead->after,
                      unit_of(e.lead->signal));
}

CapEffect close(const Snapshot& snap, EffectState& st) {
  CapEffect out = std::move(*st.open);
  st.open.reset();
  st.before.reset();
  out.judged_at = snap.now;
  st.done.push_front(out);
  if (st.done.size() > kEffectsKept) st.done.pop_back();
  return out;
}

CapEffect end_unknown(const Snapshot& snap, EffectState& st, std::string why) {
  static_cast<void>(measure_after(st));
  st.open->verdict = EffectVerdict::kUnknown;
  st.open->why = std::move(why);
  return close(snap, st);
}

bool is_lifted(const CapView& now, const CapView& before) {
  const bool class_free =
      !now.class_cap || (before.class_cap && *now.class_cap >= *before.class_cap);
  return now.level <= before.level && now.factor_permille >= before.factor_permille && class_free;
}

}  // namespace

std::string_view to_string(EffectSignal s) {
  switch (s) {
    case EffectSignal::kDegree:
      return "interference degree";
    case EffectSignal::kPsiFull:
      return "cpu psi full";
    case EffectSignal::kPsiSome:
      return "cpu psi some";
    case EffectSignal::kRunQueueP95:
      return "run-queue wait p95";
  }
  return "?";
}

std::string_view unit_of(EffectSignal s) {
  switch (s) {
    case EffectSignal::kDegree:
      return "of 100";
    case EffectSignal::kPsiFull:
    case EffectSignal::kPsiSome:
      return "%";
    case EffectSignal::kRunQueueP95:
      return "us";
  }
  return "?";
}

std::string_view to_string(EffectVerdict v) {
  switch (v) {
    case EffectVerdict::kHelped:
      return "helped";
    case EffectVerdict::kNoChange:
      return "no_change";
    case EffectVerdict::kWorse:
      return "worse";
    case EffectVerdict::kUnknown:
      return "unknown";
  }
  return "?";
}

std::optional<CapEffect> observe_effect(const Snapshot& snap,
                                        const CapView& view,
                                        bool in_force,
                                        EffectState& st) {
  keep(snap, view, st);
  std::optional<CapEffect> fallen;
  if (!in_force) {
    if (st.open) fallen = end_unknown(snap, st, "the cap is not in force any more");
    st.last.reset();
    return fallen;
  }
  if (st.last) {
    auto cut = cut_text(snap, view, st);
    if (!cut.empty() && st.open && snap.now < st.open->settled) {
      st.open->settled = snap.now + kEffectSettle;
      st.open->trigger += "; " + cut;
    } else if (!cut.empty()) {
      if (st.open) fallen = end_unknown(snap, st, "another cut came before it could show");
      begin(snap, std::move(cut), st);
    }
  }
  st.last = view;
  if (!st.open || fallen) return fallen;
  const bool spanned = snap.now >= st.open->settled + kEffectSpan;
  const bool measured = measure_after(st);
  if (spanned && (measured || snap.now >= st.open->settled + kEffectPatience)) {
    give_verdict(*st.open);
    return close(snap, st);
  }
  if (is_lifted(view, *st.before)) {
    return end_unknown(snap, st, "the cap was lifted before it could show");
  }
  return std::nullopt;
}

}  // namespace koordlet::policy
