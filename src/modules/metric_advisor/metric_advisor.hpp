#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "base/clock.hpp"
#include "kernel/cgroup_counters.hpp"
#include "kernel/cgroup_layout.hpp"
#include "kernel/procfs.hpp"
#include "kernel/storage.hpp"
#include "model/node_state.hpp"
#include "model/snapshot.hpp"
#include "model/usage.hpp"
#include "store/metric_store.hpp"

namespace koordlet {

/// Measures. Node and class signals each tick (O(1) files), pods and containers each collect
/// interval. Rates come from two readings: the first reading, a counter that went back and a
/// vanished cgroup give no sample, never a zero.
class MetricAdvisor {
 public:
  struct Config {
    std::chrono::seconds collect_interval{60};  ///< pods and containers
    bool iterator = true;  ///< one BPF pass over all cgroups where the kernel can (v2)
    /// Sockets of the runtime for containers whose cgroup cannot be read; "": not asked.
    std::string cri_socket = "/run/containerd/containerd.sock";
    std::string docker_socket = "/var/run/docker.sock";
    /// resctrl groups whose cache and bandwidth are read where resctrl is mounted.
    std::vector<std::string> resctrl_groups{"LSR", "LS", "BE"};
  };
  /// Health of one source for status and doctor.
  struct SourceHealth {
    std::string name;
    std::string fault;  ///< "" ok, else why it gives nothing
    MonoTime last_ok;
    bool unsupported = false;  ///< `fault` says what this machine lacks: nothing failed
  };
  /// `descriptor_budget`: most control files kept open at once.
  MetricAdvisor(Config config,
                kernel::HostRoots roots,
                CgroupVersion version,
                const Clock& clock,
                std::size_t descriptor_budget = 12'000);
  ~MetricAdvisor();

  /// One reading of node and class counters. Returns the new signals, or nullopt while there is no
  /// rate yet.
  std::optional<NodeSignals> sample_node(const NodeState& state,
                                         const std::optional<kernel::CgroupLayout>& layout);
  /// Fast estimate between two samples from the class counters alone (kubepods and BE roots): for
  /// the 100 ms poll.
  std::optional<NodeSignals> sample_classes(const NodeState& state,
                                            const std::optional<kernel::CgroupLayout>& layout);
  /// One full pass over pods and containers, sliced: it yields to the loop after at most 1 ms of
  /// work.
  boost::asio::awaitable<void> collect_pods(std::shared_ptr<const NodeState> state);

  /// The runtimes to ask; without it none is. `ex`: the loop.
  void use_runtimes(const boost::asio::any_io_executor& ex);
  /// Cache, bandwidth, NUMA and cold memory: each 10 s; block devices and mounts with every sixth
  /// call. It yields to the loop between them.
  boost::asio::awaitable<void> sample_slow();
  /// Best-effort requests and what the class may use at most, once a pass.
  void note_be_root(const BeRoot& root);
  /// What the last evaluation decided, stored with the samples of the next tick. `level`: 0 NONE, 1
  /// MID, 2 HIGH; no cap: there is none, and so no sample.
  void note_decision(int level, std::optional<MilliCpu> be_cap);

  const std::optional<NodeSignals>& signals() const;
  const std::map<std::string, PodUsage>& pods() const;
  const std::map<std::string, ContainerUsage>& containers() const;  ///< by "<runtime>://<id>"
  const NodeUsage& node_usage() const;
  /// nullopt: not read yet.
  const std::optional<kernel::StorageInfo>& storage() const;
  /// Which way per-cgroup counters come: "iterator (<variant>)" or "files", and why not better.
  std::string cgroup_source() const;
  std::string cgroup_source_fault() const;
  /// Samples since the last call, for MetricCache; each at the time of its reading.
  std::vector<store::MetricSample> take_samples();
  std::vector<SourceHealth> health() const;
  std::chrono::microseconds last_collect() const;  ///< CPU-side duration of the last full pass
  std::size_t open_files() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace koordlet
