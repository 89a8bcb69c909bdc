#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/cgroup.hpp"
#include "base/result.hpp"
#include "kernel/host.hpp"
#include "kernel/run_queue.hpp"

namespace koordlet::kernel {

/// "run_ns wait_ns slices" of /proc/<tid>/schedstat (that of the process is its main thread's
/// alone). kParse for anything else, content that is cut included.
struct SchedStat {
  std::uint64_t run_ns = 0, wait_ns = 0, slices = 0;
};
Result<SchedStat> parse_sched_stat(std::string_view text);

/// Run-queue wait of cgroups from the schedstat of each of their threads: the source where no BPF
/// can be loaded. Threads that ended stay in the sum with what was last seen of them, and a reused
/// id starts anew (pitfall 52), so the sum never goes back. A thread that is moved in brings its
/// past with it. Costs some 4 us a thread.
class TaskSchedStats {
 public:
  TaskSchedStats(HostRoots roots, CgroupVersion version);
  /// Sum over all threads of the cgroup itself (not of its children). kNotFound, kGone: no such
  /// cgroup; kNotSupported: this kernel has no schedstat, or counts nothing in it. After any other
  /// error the next sum is as if this reading had not been tried.
  Result<RunQueueCounters> read(const CgroupPath& cgroup);
  void forget(const CgroupPath& cgroup);

 private:
  struct Known {
    std::map<int, SchedStat> threads;  ///< by thread id, as last read
    SchedStat ended;                   ///< what threads had that are gone
  };
  HostRoots roots_;
  CgroupVersion version_;
  std::map<CgroupPath, Known> known_;
};

}  // namespace koordlet::kernel
