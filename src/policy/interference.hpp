#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/interference.hpp"

/// The interference degree (reference metrics 8): pure rules, no clock, no I/O.
namespace koordlet::policy {

/// 100 x clamp((x - lo) / (hi - lo), 0, 1). What is no number gives 0; lo not below hi is a step.
struct Ramp {
  double lo = 0, hi = 1;
  double operator()(double x) const;
  friend bool operator==(const Ramp&, const Ramp&) = default;
};

/// Every default is of reference metrics 8.2; each ramp puts the point of decision at 50.
struct InterferenceConfig {
  Ramp wait_ratio{0.02, 0.18};  ///< wait / run
  Ramp wait_p95_ms{1, 7};
  std::uint64_t min_dispatches = 50;  ///< fewer say nothing of the run queue
  Ramp cpu_full_percent{2, 18}, cpu_some_percent{5, 45};
  Ramp cpi_z{1, 3}, llc_z{1, 3};
  Ramp memory_some_percent{5, 25}, memory_full_percent{1, 11};
  Ramp io_some_percent{10, 50}, io_full_percent{5, 35};
  MilliCpu min_micro_use{250};  ///< CPI of less work says nothing
  /// A CPI reading stands for the windows that end so long after it: it is taken once a minute, the
  /// other signals each 10 s. To be not below the time between two readings.
  std::chrono::seconds micro_hold{70};
  std::size_t mature_samples = 60;
  Permille be_share_full{50};  ///< BE use of this share of the node counts in full
  int enter_degree = 50, enter_windows = 3, of_windows = 5;
  int clear_degree = 30, clear_windows = 5;
  int mid_degree = 30, high_degree = 60;  ///< levels
  double suspect_score = 0.35;
  std::size_t history_windows = 60;     ///< culprits are looked for in so many windows
  std::size_t min_culprit_windows = 6;  ///< a pod that was seen in fewer is not blamed
  MilliCpu min_suspect_use{50};         ///< nor one that uses less than this on average
  friend bool operator==(const InterferenceConfig&, const InterferenceConfig&) = default;
};

/// Mean and variance of one signal (Welford), older days weighing 0.9 a day. The weights fade when
/// a sample of a newer day comes: the mean stays, the new sample counts for more.
struct Baseline {
  double weight = 0, mean = 0, m2 = 0;         ///< m2: sum of weight x (value - mean)^2
  std::uint64_t samples = 0;                   ///< ever learned, for maturity
  std::int64_t day = 0;                        ///< of the last sample, days since the epoch
  void learn(double value, std::int64_t day);  ///< below zero or no number: ignored
  double sigma() const;                        ///< 0 before the first sample
  /// (value - mean) / max(sigma, 0.05 mean); nullopt below `mature` samples, and for a mean of 0.
  std::optional<double> z(double value, std::size_t mature) const;
  friend bool operator==(const Baseline&, const Baseline&) = default;
};

/// Whose usual CPI it is: the pods of one owner share it, on one kind of CPU.
struct BaselineKey {
  std::string owner_uid;  ///< controller; the pod's own uid without one
  std::string container;
  std::string cpu_model;
  friend auto operator<=>(const BaselineKey&, const BaselineKey&) = default;
};
struct MicroBaseline {
  Baseline cpi, llc;
  friend bool operator==(const MicroBaseline&, const MicroBaseline&) = default;
};
using BaselineTable = std::map<BaselineKey, MicroBaseline>;

/// At most `max` entries stay, those with the newest day first.
void trim_baselines(BaselineTable& table, std::size_t max);

/// Memory of one pod between windows.
struct InterferenceState {
  std::deque<bool> cpi_outliers;   ///< of the last `of_windows` CPI samples
  std::deque<int> degrees;         ///< known degrees, newest last, at most max(of, clear) windows
  int unknown_windows = 0;         ///< in a row, up to now
  std::vector<MicroSample> micro;  ///< the newest reading, for the windows up to the next one
  MonoTime micro_at;
  bool interfered = false;
  MonoTime since;
  friend bool operator==(const InterferenceState&, const InterferenceState&) = default;
};

/// Degree of one window. z values come from `baselines` under `owner_uid` and `cpu_model`.
/// `outliers`: as in InterferenceState, this window's sample included.
/// be_degree = q (D - D0) + f D0, where D0 is D without its CPU component, f = clamp(BE use / (5 %
/// of the node), 0, 1) and q the share of the run-queue wait that passed behind best effort. f in
/// the place of q where that is not known: D x f then. f 0: 0.
InterferenceDegree degree_of(const InterferenceWindow& window,
                             const BaselineTable& baselines,
                             const std::string& owner_uid,
                             const std::string& cpu_model,
                             const std::deque<bool>& outliers,
                             const InterferenceConfig& config);

/// One window of one pod: its result (without culprits) and what to remember. A window without a
/// degree neither enters nor clears, it is as if it had not been; after `clear_windows` of them in
/// a row what was known is too old to stand on, and the pod counts as not interfered. `window` of
/// the result holds the CPI that stands in it, which may be of an earlier window.
std::pair<PodInterference, InterferenceState> judge(const std::string& pod_uid,
                                                    const InterferenceWindow& window,
                                                    const BaselineTable& baselines,
                                                    const std::string& owner_uid,
                                                    const std::string& cpu_model,
                                                    InterferenceState state,
                                                    const InterferenceConfig& config);

/// Learns from the window's CPI where nothing disturbed it: usage at least min_micro_use, and no BE
/// use or a degree (C, P, I) of 0 with something known of the CPU.
void learn(BaselineTable& baselines,
           const InterferenceWindow& window,
           const InterferenceDegree& degree,
           const std::string& owner_uid,
           const std::string& cpu_model,
           std::int64_t day,
           const InterferenceConfig& config);

/// What a victim suffered and what each suspect used, window by window.
struct VictimWindow {
  double pain = 0;                       ///< CPI, or wait / run
  double normal = 0;                     ///< c_t: mean + 2 sigma, or the middle of the ramp
  std::map<std::string, MilliCpu> used;  ///< by uid of the suspect
};
/// CPI^2 score of one suspect (Zhang et al., EuroSys 2013): use normalised to a sum of 1; -1..1.
/// nullopt: the suspect used nothing, or there is no window with normal > 0.
std::optional<double> antagonist_score(const std::deque<VictimWindow>& windows,
                                       const std::string& suspect);
/// Suspects at or above config.suspect_score, best first; ties by use, then by uid.
std::vector<Culprit> rank_culprits(const std::deque<VictimWindow>& windows,
                                   const InterferenceConfig& config);

/// Largest degrees over the pods; of equal ones the pod with the smallest uid.
NodeInterference worst_of(const std::vector<PodInterference>& pods, MonoTime at);

}  // namespace koordlet::policy
