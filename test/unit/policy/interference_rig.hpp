#pragma once

#include <algorithm>
#include <chrono>
#include <deque>
#include <string>
#include <vector>

#include "policy/interference.hpp"

namespace koordlet::policy {

using namespace std::chrono_literals;

/// A window of 10 s in which nothing was measured.
inline InterferenceWindow empty_window(MonoTime at = MonoTime{100s}) {
  InterferenceWindow w;
  w.at = at;
  w.length = 10s;
  return w;
}

/// Signals of worked example T22; its CPI is 2.5 sigma above t22_baselines(), its miss ratio 2.
inline InterferenceWindow t22() {
  auto w = empty_window();
  w.run = 15s;
  w.wait = 1500ms;
  w.dispatches = 5000;
  w.wait_p95 = 2500us;
  w.cpu = StallShare{15, 6};
  w.memory = StallShare{3, 0};
  w.io = StallShare{10, 10};
  w.throttled = Permille{0};
  w.micro = {{"app", MilliCpu{1500}, 2.2, 0.4}};
  w.used = MilliCpu{1500};
  w.node_capacity = MilliCpu{64'000};
  return w;
}

/// Mature, of the mean and sigma asked for: half of the samples at each side.
inline Baseline baseline(double mean, double sigma) {
  Baseline out;
  for (int i = 0; i < 60; ++i) out.learn(mean + (i % 2 == 0 ? sigma : -sigma), 20'000);
  return out;
}

/// CPI 1.8 with sigma 0.16; miss ratio 0.3 with sigma 0.05.
inline BaselineTable t22_baselines() {
  BaselineTable out;
  out[{"owner", "app", "cpu"}] = {baseline(1.8, 0.16), baseline(0.3, 0.05)};
  return out;
}

inline const std::deque<bool> kConfirmed{true, true, true, false, false};

inline InterferenceDegree degree(const InterferenceWindow& w,
                                 const std::deque<bool>& outliers = {},
                                 const BaselineTable& baselines = t22_baselines()) {
  return degree_of(w, baselines, "owner", "cpu", outliers, {});
}

inline bool misses(const InterferenceDegree& d, const std::string& name) {
  return std::find(d.missing.begin(), d.missing.end(), name) != d.missing.end();
}

/// A window of just that degree: cpu "full" has the ramp 2..18 % and weighs in full.
inline InterferenceWindow of_degree(double degree, MonoTime at) {
  auto w = empty_window(at);
  w.cpu = StallShare{0, 2 + 16.0 * degree / 100};
  return w;
}

}  // namespace koordlet::policy
