#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "base/clock.hpp"
#include "kernel/cgroup_counters.hpp"
#include "kernel/cgroup_layout.hpp"
#include "kernel/procfs.hpp"
#include "model/node_state.hpp"
#include "model/snapshot.hpp"
#include "store/metric_store.hpp"

namespace koordlet {

/// Measures. Node and class signals each tick (O(1) files), pods and containers each collect
/// interval. Rates come from two readings: the first reading, a counter that went back and a
/// vanished cgroup give no sample, never a zero.
class MetricAdvisor {
 public:
  struct Config {
    std::chrono::seconds collect_interval{60};  ///< pods and containers
  };
  /// Health of one source for status and doctor: "" ok, else why it gives nothing.
  struct SourceHealth {
    std::string name;
    std::string fault;
    MonoTime last_ok;
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

  const std::optional<NodeSignals>& signals() const;
  const std::map<std::string, PodUsage>& pods() const;
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
