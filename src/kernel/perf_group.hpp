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
/// cycles, instructions, LLC references, LLC misses: the first two are always on general names, the
/// last two are left out on AMD, where the generic cache events mean L2 (reference metrics 6).
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
  /// In the order of the events asked for. nullopt: the group never ran while enabled on any CPU.
  std::vector<std::optional<double>> values;
};

/// One group of events of one cgroup on each of `cpus` (reference metrics 6): flags PID_CGROUP and
/// CLOEXEC, opened disabled, read and closed as a whole. Costs cpus x events descriptors, and the
/// counters are reprogrammed at each switch of cgroups while it is open.
class PerfGroup {
 public:
  /// `directory`: absolute directory of the cgroup (v1: of the perf_event hierarchy). kNotFound:
  /// the machine has no such counter, kNotSupported, kDenied (perf_event_paranoid, CAP_PERFMON),
  /// kBusy (descriptors): nothing stays open after an error. The context names event and CPU.
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

/// Absolute directory that PerfGroup::open() wants; nullopt where v1 has no perf_event hierarchy.
std::optional<std::string> perf_cgroup_directory(const HostRoots& roots,
                                                 CgroupVersion version,
                                                 const CgroupPath& cgroup);
/// Do the counters of `events` exist and may they be opened: on this thread alone, no cgroup.
Result<void> probe_perf_events(const std::vector<PerfEventSpec>& events);

}  // namespace koordlet::kernel
