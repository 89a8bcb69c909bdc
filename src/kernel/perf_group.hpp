#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/cgroup.hpp"
#include "base/cpu_set.hpp"
#include "base/result.hpp"
#include "kernel/fd.hpp"
#include "kernel/host.hpp"

namespace koordlet::kernel {

/// One counter of a group: a name as libpfm4 spells it ("cycles", "instructions", "LLC-LOADS",
/// "context-switches").
struct PerfEventSpec {
  std::string name;
};
/// cycles, instructions, LLC references, LLC misses, in this order. The last two are there on Intel
/// alone: the generic cache events mean L2 on AMD and L1 on Arm (reference metrics 6).
std::vector<PerfEventSpec> interference_events(const HostRoots& roots);

/// One read of a group leader with PERF_FORMAT_GROUP | TOTAL_TIME_ENABLED | TOTAL_TIME_RUNNING |
/// ID: nr, enabled, running, then nr times {value, id}.
struct PerfGroupReading {
  std::uint64_t enabled_ns = 0, running_ns = 0;
  struct Value {
    std::uint64_t value = 0, id = 0;
  };
  std::vector<Value> values;
};
/// kParse: fewer bytes than nr asks for, or nr above 64.
Result<PerfGroupReading> parse_perf_group(std::span<const std::byte> bytes);

/// value x enabled / running; nullopt when the group never ran (no sample, never a zero):
/// pitfall 37.
std::optional<double> scaled(std::uint64_t value,
                             std::uint64_t enabled_ns,
                             std::uint64_t running_ns);

/// Counts of one cgroup over one window, summed over CPUs, each scaled on its own CPU first.
struct PerfCounts {
  /// In the order of the events asked for. nullopt: there was time to count on some CPU, and the
  /// group ran on none (others had the counters). 0 when no task of the cgroup ran at all: time
  /// only passes for a group while one does. A CPU on which it had time and never ran is left out:
  /// ratios of two counts hold, the counts are too low then.
  std::vector<std::optional<double>> values;
};
/// What one CPU's leader gave, and the ids of its events in the order asked for.
struct PerfCpuReading {
  PerfGroupReading reading;
  std::vector<std::uint64_t> ids;
};
/// Values are matched by id, never by place. kParse: an event of a CPU has no value in its reading.
Result<PerfCounts> sum_counts(std::span<const PerfCpuReading> cpus, std::size_t events);

/// One group of events of one cgroup, its descendants included, on each of `cpus` (reference
/// metrics 6): flags PID_CGROUP and CLOEXEC, opened disabled, read and closed as a whole. Costs
/// cpus x events descriptors, and the counters are reprogrammed at each switch of cgroups while it
/// is open.
class PerfGroup {
 public:
  /// `directory`: absolute directory of the cgroup (v1: of the perf_event hierarchy). 1 to 64
  /// events and at least one CPU (kRange). kGone: the cgroup is not there (any more). kNotFound:
  /// libpfm4 or the machine has no such counter. kNotSupported: the CPU is offline, or cannot count
  /// this way. kDenied: perf_event_paranoid, CAP_PERFMON. kBusy: no descriptors, or a counter is
  /// taken. kInvalid: no cgroup directory. Nothing stays open after an error. The context names
  /// event and CPU.
  static Result<PerfGroup> open(const std::string& directory,
                                const std::vector<PerfEventSpec>& events,
                                const CpuSet& cpus);
  Result<void> start();                ///< reset and enable
  Result<PerfCounts> stop_and_read();  ///< disable, read each CPU's leader once
  std::size_t open_files() const;

 private:
  struct CpuGroup {
    int cpu = 0;
    std::vector<Fd> events;  ///< leader first
    std::vector<std::uint64_t> ids;
  };
  std::vector<CpuGroup> groups_;
  std::size_t event_count_ = 0;
};

/// Absolute directory that PerfGroup::open() wants. v1: below the perf_event hierarchy; where that
/// is not mounted, perf_event belongs to the unified hierarchy ("unified" below the root, hierarchy
/// 0 in <proc>/cgroups), and a cgroup of this name there will do if it has tasks: an empty one
/// would count a false 0. nullopt: none of these. It does not look whether the cgroup exists
/// otherwise.
std::optional<std::string> perf_cgroup_directory(const HostRoots& roots,
                                                 CgroupVersion version,
                                                 const CgroupPath& cgroup);
/// Do the counters of `events` exist and may they be opened: on this thread alone, no cgroup.
Result<void> probe_perf_events(const std::vector<PerfEventSpec>& events);

}  // namespace koordlet::kernel
