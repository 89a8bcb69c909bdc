#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/units.hpp"
#include "model/usage.hpp"

namespace koordlet {

/// What an interference degree is made of (reference metrics 8.2).
enum class InterferenceComponent { kCpu, kMicro, kMemory, kIo };
std::string_view to_string(InterferenceComponent c);  ///< "cpu", "micro", "memory", "io"

/// CPI and cache misses of one container in one window.
struct MicroSample {
  std::string container;  ///< its name in the pod
  MilliCpu used;
  double cpi = 0;
  std::optional<double> llc_miss_ratio;  ///< misses / references, 0..1
  std::string id{};                      ///< "containerd://..."
  double cycles = 0, instructions = 0;   ///< of the counters' window
};

/// One window of one latency-sensitive pod. nullopt: no such signal here, which is not zero. Values
/// that no counter can have given (below zero, NaN) are taken for missing, and so is everything in
/// a window without length.
struct InterferenceWindow {
  MonoTime at;  ///< end of the window
  std::chrono::nanoseconds length{0};
  std::optional<std::chrono::nanoseconds> wait;  ///< in the run queue, all tasks
  std::optional<std::chrono::nanoseconds> run;   ///< on a CPU, all tasks
  std::optional<std::uint64_t> dispatches;
  std::optional<std::chrono::nanoseconds> wait_p50, wait_p95, wait_p99;
  std::optional<std::chrono::nanoseconds> behind_best_effort;  ///< part of `wait`
  std::optional<StallShare> cpu, memory, io;
  std::optional<Permille> throttled;  ///< share of its periods
  std::vector<MicroSample> micro;     ///< read in this window; empty: none was
  std::optional<MilliCpu> used;       ///< of the pod
  std::optional<MilliCpu> be_used;    ///< of all best-effort pods
  MilliCpu node_capacity;             ///< 0: unknown
};

/// How much a pod is hurt by others, 0 to 100, with what it was computed from.
struct InterferenceDegree {
  std::optional<int> degree;     ///< nullopt: no signal at all
  std::optional<int> be_degree;  ///< the part that best effort causes; nullopt: its use is unknown
  /// Components C, M, P, I, 0..100, as they count in `degree`: 0 where their signals are missing.
  /// To show one, ask component_of().
  double cpu = 0, micro = 0, memory = 0, io = 0;
  /// The one that weighs most in `degree` (P counts 0.8, I 0.6 of its value).
  InterferenceComponent top = InterferenceComponent::kCpu;
  /// Signals that gave nothing: "run queue", "cpu psi", "throttling", "cpi" (no usable sample),
  /// "cpi baseline" (not mature), "llc", "memory psi", "io psi".
  std::vector<std::string> missing;
  bool micro_confirmed = false;  ///< 3 of the last 5 CPI samples were over 2 sigma
};

/// Value of one component; nullopt: none of its signals was there, which is not 0.
std::optional<double> component_of(const InterferenceDegree& d, InterferenceComponent c);

enum class InterferenceLevel { kNone, kMid, kHigh };
std::string_view to_string(InterferenceLevel l);  ///< "none", "mid", "high"

/// A best-effort pod whose CPU use goes with the pain of a latency-sensitive one.
struct Culprit {
  std::string uid;
  double score = 0;  ///< -1..1, suspect from 0.35 on
  MilliCpu used;     ///< mean over the windows looked at
  std::size_t windows = 0;
};

/// Where one latency-sensitive pod stands.
struct PodInterference {
  std::string uid;
  MonoTime since;  ///< of `interfered` as it is
  bool interfered = false;
  InterferenceLevel level = InterferenceLevel::kNone;  ///< of the newest known degree
  InterferenceWindow window;                           ///< the newest one
  InterferenceDegree degree;                           ///< of the newest window
  std::optional<double> worst_z;  ///< of its containers' CPI; nullopt: no mature baseline
  std::string culprit_signal;     ///< what culprits were ranked by: "cpi", "run queue", "" none
  std::vector<Culprit> culprits;  ///< best first, suspects only
};

/// The node's worst.
struct NodeInterference {
  MonoTime at;
  std::optional<int> degree, be_degree;  ///< maxima over the pods
  std::string pod_uid;                   ///< of the largest degree; "" none
  InterferenceComponent top = InterferenceComponent::kCpu;
  bool interfered = false;  ///< any pod is
};

}  // namespace koordlet
