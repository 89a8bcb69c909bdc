#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kernel/cgroup_counters.hpp"
#include "modules/metric_advisor/interference_watch.hpp"
#include "modules/metric_advisor/micro_source.hpp"
#include "modules/metric_advisor/rate.hpp"
#include "modules/metric_advisor/run_queue_source.hpp"

namespace koordlet {

/// Reading a window is in interference_window.cpp, the judgement in interference_watch.cpp, what is
/// stored in interference_samples.cpp.
struct InterferenceWatch::Impl {
  Config config;
  const Clock& clock;
  kernel::CgroupCounters counters;
  RunQueueSource run_queue;
  MicroSource micro;
  MilliCpu node_capacity;  ///< online CPUs; 0: unknown
  MilliCpu ceiling;        ///< no rate is above it
  std::string cpu_model;

  /// One latency-sensitive pod between windows.
  struct Track {
    std::optional<CpuReading> cpu;
    ThrottleRate throttle;
    StallRate cpu_stall, memory_stall, io_stall;
    policy::InterferenceState state;
    std::deque<policy::VictimWindow> cpi_history, wait_history;
  };
  std::map<std::string, Track> tracks;          ///< by uid
  std::map<std::string, CpuRate> suspects;      ///< BE pods, by uid
  std::map<std::string, MilliCpu> suspect_use;  ///< of the window that is read now
  std::map<std::string, std::vector<MicroSample>> micro_samples;  ///< by pod uid, of this window
  policy::BaselineTable baselines;
  bool baselines_changed = false;
  std::map<std::string, PodInterference> pods;
  std::optional<NodeInterference> node;
  std::optional<MonoTime> last_at;
  std::vector<store::MetricSample> samples;
  std::map<std::string, MetricAdvisor::SourceHealth> health;

  Impl(Config c,
       const kernel::HostRoots& roots,
       kernel::Cgroups& cgroups,
       const Clock& k,
       std::size_t budget);

  /// `why`: "" when the source worked.
  void note(const std::string& source, const std::string& why);
  void note(const std::string& source, const Error& why);
  // interference_window.cpp
  void read_suspects(const NodeState& state);
  void mark_best_effort(const NodeState& state);
  void read_micro(const NodeState& state, MonoTime now);
  std::optional<InterferenceWindow> read_window(const Pod& pod,
                                                Track& track,
                                                std::optional<MilliCpu> be_used);
  void read_stalls(const Pod& pod, Track& track, InterferenceWindow& out);
  void read_run_queue(const Pod& pod, InterferenceWindow& out);
  void drop_gone(const NodeState& state);
  // interference_watch.cpp
  void judge_pod(const Pod& pod, Track& track, const InterferenceWindow& window);
  /// `window`: as read, so that a CPI counts in one window only.
  void blame(const Pod& pod,
             Track& track,
             const InterferenceWindow& window,
             PodInterference& result);
  // interference_samples.cpp
  void emit(const PodInterference& p);
  void emit_micro(const MicroSource::Reading& r);
  void emit_node();
};

/// Whom interference is looked for: active pods that are not best effort and not the system's.
bool is_latency_sensitive(const Pod& pod);
/// Whose usual CPI a pod shares.
const std::string& baseline_owner(const Pod& pod);

}  // namespace koordlet
