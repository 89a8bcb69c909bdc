#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "base/clock.hpp"
#include "kernel/cgroup_fs.hpp"
#include "kernel/host.hpp"
#include "model/interference.hpp"
#include "model/node_state.hpp"
#include "modules/metric_advisor/metric_advisor.hpp"
#include "policy/interference.hpp"
#include "store/metric_store.hpp"

namespace koordlet {

/// Who hurts whom: each window it reads run-queue wait, PSI, throttling and, from time to time, CPI
/// of every latency-sensitive pod, judges them (policy/interference.hpp) and names the best-effort
/// pods to blame. Loop thread.
class InterferenceWatch {
 public:
  struct Config {
    bool enable = true;
    std::chrono::seconds ls_interval{10};  ///< length of a window
    bool bpf = true;                       ///< run-queue latency by BPF; else schedstat
    bool perf = true;                      ///< CPI and LLC misses where there are counters
    std::chrono::seconds perf_window{10};
    std::chrono::seconds perf_interval{60};  ///< between two windows; ls_interval while interfered
    bool psi_triggers = true;  ///< wake a tick on stalls, where the kernel allows triggers
    std::size_t max_baselines = 2000;
    policy::InterferenceConfig rules;
  };
  /// `cgroups` and `clock` outlive it.
  InterferenceWatch(Config config,
                    const kernel::HostRoots& roots,
                    kernel::Cgroups& cgroups,
                    const Clock& clock,
                    std::size_t descriptor_budget = 2048);
  ~InterferenceWatch();

  /// Loads what the signals need (BPF programs, perf events); what is not there is a fault of its
  /// source and stops nothing. Before the loop runs.
  void open();
  /// One window: from the last call to this one. Sliced: it yields after at most 1 ms of work. The
  /// first window of a pod gives no result.
  boost::asio::awaitable<void> sample(std::shared_ptr<const NodeState> state,
                                      std::optional<MilliCpu> be_used);

  const std::map<std::string, PodInterference>& pods() const;  ///< by uid
  const std::optional<NodeInterference>& node() const;         ///< nullopt before the first window
  /// "bpf", "schedstat", "none"; and why not a better one.
  std::string run_queue_source() const;
  std::string run_queue_fault() const;
  std::string perf_fault() const;  ///< "" while CPI is measured
  std::vector<MetricAdvisor::SourceHealth> health() const;
  /// Samples since the last call, for MetricCache.
  std::vector<store::MetricSample> take_samples();

  /// Usual CPI of workloads, for a checkpoint, and back from one.
  std::string baselines_text() const;
  Result<void> load_baselines(std::string_view text);
  bool baselines_changed() const;  ///< since the last baselines_text()
  std::size_t baselines() const;   ///< kept now
  std::size_t open_files() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace koordlet
