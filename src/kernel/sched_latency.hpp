#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/cgroup.hpp"
#include "base/result.hpp"
#include "kernel/cgroup_fs.hpp"
#include "kernel/run_queue.hpp"

namespace koordlet::kernel {

/// Run-queue latency of every cgroup by a BPF program on sched_wakeup, sched_wakeup_new and
/// sched_switch (BTF tracepoints, CO-RE; sources in src/kernel/bpf). Counts from open() on, for the
/// cgroup a task is in itself: the sum over a pod is the caller's. The programs and maps are pinned
/// nowhere: they go with this object and with the process. One thread at a time.
/// A wait begins when a task is woken or made, or loses its CPU while it could go on (preempted,
/// throttled), and is counted when it gets one again; moves from CPU to CPU meanwhile are part of
/// it. Costs some 0.2 us a context switch. Before Linux 6.4, tasks that were there before and
/// cannot be seen from this process's PID namespace are not counted: run it in the host's.
class SchedLatency {
 public:
  /// v1: cgroups of the cpu hierarchy; v2: of the default one. kNotSupported: no BTF, or the kernel
  /// lacks what the programs need; kDenied: no CAP_BPF and CAP_PERFMON (or CAP_SYS_ADMIN).
  /// `max_cgroups`: most cgroups that are counted at once; more are not counted (see dropped()).
  /// Each takes 232 bytes of kernel memory for every possible CPU; before Linux 6.8 all of it is
  /// taken at once, and fewer cgroups fit where that would be more than 64 MiB. kRange: 0, or above
  /// a million.
  static Result<std::unique_ptr<SchedLatency>> open(CgroupVersion version,
                                                    std::size_t max_cgroups = 4096);
  virtual ~SchedLatency() = default;

  /// Cgroups whose tasks count as best effort, whole list each time (ids are inodes of their
  /// directories). A task in a child of a listed cgroup does not count: list the children as well.
  /// behind_best_effort of a wait is the time in which tasks of listed cgroups had the CPU where
  /// the wait began, from then until the dispatch. So it includes what best effort waits for
  /// itself; of a task that was pulled to another CPU it still tells about the first one. A task
  /// that is on a CPU while the list changes counts as before until it leaves. kRange: more than
  /// `max_cgroups`.
  virtual Result<void> set_best_effort(const std::vector<Inode>& cgroups) = 0;
  /// nullopt: no task of this very cgroup was dispatched yet.
  virtual Result<std::optional<RunQueueCounters>> read(Inode cgroup) = 0;
  /// Frees the counters of a removed cgroup; unknown ids are no error.
  virtual void forget(Inode cgroup) = 0;
  /// Frees all cgroups that are not in `alive` (sorted); returns how many.
  virtual Result<std::size_t> keep_only(const std::vector<Inode>& alive) = 0;
  virtual std::uint64_t dropped() const = 0;  ///< dispatches not counted: table full
};

}  // namespace koordlet::kernel
