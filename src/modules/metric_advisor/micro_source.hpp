#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/cpu_set.hpp"
#include "kernel/cgroup_counters.hpp"
#include "kernel/host.hpp"
#include "kernel/perf_group.hpp"
#include "model/pod.hpp"

namespace koordlet {

/// Cycles, instructions and LLC counts of LS containers over one window, from time to time:
/// counters are only open during the window, since they cost at each switch of cgroups.
class MicroSource {
 public:
  struct Config {
    bool enable = true;
    std::chrono::seconds window{10};
    std::chrono::seconds interval{60};     ///< from the start of one window to the next
    std::size_t descriptor_budget = 4096;  ///< CPUs x events + 1 a container
  };
  /// One container's counts of the last window.
  struct Reading {
    std::string pod_uid;
    std::string container;  ///< its name in the pod
    std::string id;         ///< "containerd://..."
    double cycles = 0, instructions = 0;
    std::optional<double> llc_references, llc_misses;
    std::chrono::nanoseconds length{0};
    MilliCpu used;  ///< of the container over the window
  };

  /// `counters` outlives it.
  MicroSource(Config config,
              kernel::HostRoots roots,
              CgroupVersion version,
              kernel::CgroupCounters& counters);
  /// Looks whether the counters exist. Without them nothing is ever opened.
  void open();
  /// "" when there are counters, else why not.
  const std::string& why_not() const { return why_not_; }
  /// This machine has no such counters: nothing failed.
  bool is_unsupported() const { return unsupported_; }
  std::optional<MonoTime> last_read() const { return last_read_; }  ///< of any container
  bool is_open() const { return !groups_.empty(); }
  bool is_due(MonoTime now, std::chrono::seconds interval) const;

  /// Opens the window over the running containers of these pods; those beyond the budget are taken
  /// first next time.
  void start(const std::vector<const Pod*>& pods, MonoTime now);
  /// Readings of the window when it is over; empty before that.
  std::vector<Reading> finish(MonoTime now);
  const Config& config() const { return config_; }

 private:
  struct Group {
    Reading subject;
    CgroupPath cgroup;
    std::chrono::nanoseconds usage_before{0};
    kernel::PerfGroup counters;
  };
  Config config_;
  kernel::HostRoots roots_;
  CgroupVersion version_;
  kernel::CgroupCounters& counters_;
  std::vector<kernel::PerfEventSpec> events_;
  CpuSet cpus_;
  std::string why_not_ = "not opened";
  bool unsupported_ = false;
  std::optional<MonoTime> last_read_;
  std::vector<Group> groups_;
  std::optional<MonoTime> started_;
  std::string next_id_;  ///< where the last window ran out of budget
};

}  // namespace koordlet
