#include <algorithm>
#include <utility>

#include "policy/interference.hpp"

namespace koordlet::policy {
namespace {

template <class T>
void push(std::deque<T>& memory, T value, int most) {
  memory.push_back(value);
  while (memory.size() > static_cast<std::size_t>(std::max(1, most))) memory.pop_front();
}

/// Was the CPI of any container over mean + 2 sigma? nullopt: no sample that could tell.
std::optional<bool> is_outlier(const InterferenceWindow& w,
                               const BaselineTable& baselines,
                               const std::string& owner,
                               const std::string& model,
                               const InterferenceConfig& c,
                               std::optional<double>& worst_z) {
  for (const auto& sample : w.micro) {
    if (sample.used < c.min_micro_use || !(sample.cpi > 0)) continue;
    const auto at = baselines.find({owner, sample.container, model});
    if (at == baselines.end()) continue;
    const auto z = at->second.cpi.z(sample.cpi, c.mature_samples);
    if (z) worst_z = std::max(worst_z.value_or(*z), *z);
  }
  if (!worst_z) return std::nullopt;
  return *worst_z > 2;
}

InterferenceLevel level_of(const std::optional<int>& degree, const InterferenceConfig& c) {
  if (!degree || *degree < c.mid_degree) return InterferenceLevel::kNone;
  return *degree < c.high_degree ? InterferenceLevel::kMid : InterferenceLevel::kHigh;
}

template <class Is>
int newest(const std::deque<int>& degrees, int windows, Is&& is) {
  const auto n = std::min<std::size_t>(degrees.size(), static_cast<std::size_t>(windows));
  return static_cast<int>(std::count_if(
      degrees.end() - static_cast<std::ptrdiff_t>(n), degrees.end(), std::forward<Is>(is)));
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
  out.window = window;
  const auto outlier = is_outlier(window, baselines, owner_uid, cpu_model, c, out.worst_z);
  if (outlier) push(state.cpi_outliers, *outlier, c.of_windows);
  out.degree = degree_of(window, baselines, owner_uid, cpu_model, state.cpi_outliers, c);
  // A window that nothing is known of neither enters nor clears: it is as if it had not been.
  if (out.degree.degree)
    push(state.degrees, *out.degree.degree, std::max(c.of_windows, c.clear_windows));
  const bool before = state.interfered;
  if (!state.interfered) {
    state.interfered = newest(state.degrees, c.of_windows, [&](int d) {
                         return d >= c.enter_degree;
                       }) >= c.enter_windows;
  } else {
    state.interfered = newest(state.degrees, c.clear_windows, [&](int d) {
                         return d < c.clear_degree;
                       }) < c.clear_windows;
  }
  if (state.interfered != before || state.since == MonoTime{}) state.since = window.at;
  out.interfered = state.interfered;
  out.since = state.since;
  out.level = level_of(out.degree.degree, c);
  return {std::move(out), std::move(state)};
}

}  // namespace koordlet::policy
