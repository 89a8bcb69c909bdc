#include <algorithm>
#include <utility>

#include "policy/interference.hpp"
#include "policy/interference_micro.hpp"

namespace koordlet::policy {
namespace {

constexpr double kOutlierZ = 2;  // sigmas: the rule of CPI^2

template <class T>
void push(std::deque<T>& memory, T value, int most) {
  memory.push_back(value);
  while (memory.size() > static_cast<std::size_t>(std::max(1, most))) memory.pop_front();
}

template <class Is>
int newest(const std::deque<int>& degrees, int windows, Is&& is) {
  const auto n = std::min(static_cast<std::ptrdiff_t>(degrees.size()),
                          static_cast<std::ptrdiff_t>(std::max(0, windows)));
  return static_cast<int>(std::count_if(degrees.end() - n, degrees.end(), std::forward<Is>(is)));
}

bool is_interfered(const InterferenceState& state, const InterferenceConfig& c) {
  if (!state.interfered) {
    const auto is_bad = [&](int d) { return d >= c.enter_degree; };
    return newest(state.degrees, c.of_windows, is_bad) >= c.enter_windows;
  }
  const auto is_good = [&](int d) { return d < c.clear_degree; };
  return newest(state.degrees, c.clear_windows, is_good) < c.clear_windows;
}

InterferenceLevel level_of(const std::deque<int>& degrees, const InterferenceConfig& c) {
  if (degrees.empty() || degrees.back() < c.mid_degree) return InterferenceLevel::kNone;
  return degrees.back() < c.high_degree ? InterferenceLevel::kMid : InterferenceLevel::kHigh;
}

/// The window with the CPI that holds in it: its own, or the last one while that is young enough.
InterferenceWindow with_micro(InterferenceWindow w,
                              InterferenceState& state,
                              const InterferenceConfig& c) {
  if (!w.micro.empty()) {
    state.micro = w.micro;
    state.micro_at = w.at;
  } else if (!state.micro.empty() && w.at - state.micro_at <= c.micro_hold) {
    w.micro = state.micro;
  } else {
    state.micro.clear();
  }
  return w;
}

}  // namespace

std::pair<PodInterference, InterferenceState> judge(const std::string& pod_uid,
                                                    const InterferenceWindow& window,
                                                    const BaselineTable& baselines,
                                                    const std::string& owner_uid,
                                                    const std::string& cpu_model,
                                                    InterferenceState state,
                                                    const InterferenceConfig& c) {
  PodInterference out;
  out.uid = pod_uid;
  out.window = with_micro(window, state, c);
  const auto& judged = out.window;
  out.worst_z = micro_score(judged.micro, baselines, owner_uid, cpu_model, c).worst_z;
  // A reading counts once, however many windows it stands for.
  if (out.worst_z && !window.micro.empty())
    push(state.cpi_outliers, *out.worst_z > kOutlierZ, c.of_windows);
  out.degree = degree_of(judged, baselines, owner_uid, cpu_model, state.cpi_outliers, c);
  const bool before = state.interfered;
  if (out.degree.degree) {
    state.unknown_windows = 0;
    push(state.degrees, *out.degree.degree, std::max(c.of_windows, c.clear_windows));
    state.interfered = is_interfered(state, c);
  } else if (++state.unknown_windows >= c.clear_windows) {
    state.degrees.clear();
    state.interfered = false;
  }
  if (state.interfered != before || state.since == MonoTime{}) state.since = window.at;
  out.interfered = state.interfered;
  out.since = state.since;
  out.level = level_of(state.degrees, c);
  return {std::move(out), std::move(state)};
}

NodeInterference worst_of(const std::vector<PodInterference>& pods, MonoTime at) {
  NodeInterference out;
  out.at = at;
  for (const auto& p : pods) {
    out.interfered |= p.interfered;
    if (p.degree.be_degree)
      out.be_degree = std::max(out.be_degree.value_or(0), *p.degree.be_degree);
    if (!p.degree.degree) continue;
    const bool worse = !out.degree || *p.degree.degree > *out.degree ||
                       (*p.degree.degree == *out.degree && p.uid < out.pod_uid);
    if (!worse) continue;
    out.degree = p.degree.degree;
    out.pod_uid = p.uid;
    out.top = p.degree.top;
  }
  return out;
}

}  // namespace koordlet::policy
