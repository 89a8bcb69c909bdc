#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "kernel/cgroup_counters.hpp"
#include "kernel/cgroup_iterator.hpp"
#include "kernel/cgroup_layout.hpp"
#include "model/usage.hpp"
#include "modules/metric_advisor/rate.hpp"

namespace koordlet {

/// Reads what one cgroup uses, by the cheapest source: one BPF pass over all cgroups for CPU,
/// throttling and PSI (v2), kept-open files for the rest and everywhere else. Rates are since the
/// cgroup's last measure().
class WorkloadReader {
 public:
  WorkloadReader(kernel::HostRoots roots,
                 CgroupVersion version,
                 const Clock& clock,
                 std::size_t descriptor_budget);

  /// Before the cgroups of one pass are measured: runs the iterator where there is one. `kubepods`
  /// nullopt: the tree is not known yet.
  void begin_pass(const std::optional<CgroupPath>& kubepods, bool iterator);
  /// Nothing of it known: the cgroup is gone (or was never there).
  WorkloadUsage measure(const CgroupPath& path);
  void forget(const CgroupPath& path);
  /// Drops everything that is not in `alive`.
  void keep_only(const std::set<CgroupPath>& alive);

  kernel::CgroupCounters& counters() { return counters_; }
  const kernel::CgroupCounters& counters() const { return counters_; }
  /// Why there is no iterator; "" while it runs. v1 has none by design.
  const std::string& iterator_fault() const { return iterator_fault_; }
  std::string iterator_variant() const { return iterator_ ? iterator_->variant() : ""; }
  /// Sources that failed or worked since the last call: name -> why not, nullopt for worked.
  std::map<std::string, std::optional<Error>> take_notes() { return std::exchange(notes_, {}); }
  void set_ceiling(MilliCpu ceiling) { ceiling_ = ceiling; }

 private:
  struct Track {
    kernel::Inode id = 0;
    CpuRate cpu;
    ThrottleRate throttle;
    StallRate cpu_stall, memory_stall, io_stall;
    IoUseRate io;
  };
  const kernel::IteratedCgroup* iterated(const CgroupPath& path, Track& track);
  bool measure_cpu(const CgroupPath& path,
                   Track& track,
                   const kernel::IteratedCgroup* pass,
                   WorkloadUsage& out);
  void measure_throttle(const CgroupPath& path,
                        Track& track,
                        const kernel::IteratedCgroup* pass,
                        WorkloadUsage& out);
  void measure_memory(const CgroupPath& path, WorkloadUsage& out);
  void measure_io(const CgroupPath& path, Track& track, WorkloadUsage& out);
  void measure_stalls(const CgroupPath& path,
                      Track& track,
                      const kernel::IteratedCgroup* pass,
                      WorkloadUsage& out);
  void note(const char* source, const Error& error);
  void works(const char* source);

  kernel::HostRoots roots_;
  CgroupVersion version_;
  const Clock& clock_;
  kernel::CgroupCounters counters_;
  MilliCpu ceiling_{std::int64_t{4096} * 1000};
  std::unique_ptr<kernel::CgroupIterator> iterator_;
  std::string iterator_root_;  ///< directory the iterator was opened on
  std::string iterator_fault_ = "not opened yet";
  std::optional<MonoTime> iterator_tried_;
  const kernel::CgroupIterator::Table* table_ = nullptr;  ///< of the pass that runs
  MonoTime table_at_;
  std::map<CgroupPath, Track> tracks_;
  std::map<std::string, std::optional<Error>> notes_;
};

}  // namespace koordlet
