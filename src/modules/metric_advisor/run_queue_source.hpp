#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernel/cgroup_fs.hpp"
#include "kernel/host.hpp"
#include "kernel/run_queue.hpp"
#include "kernel/sched_latency.hpp"
#include "kernel/task_sched_stat.hpp"

namespace koordlet {

/// Run-queue wait of cgroups by the best source that this host has: BPF, else the schedstat of each
/// thread, else nothing (PSI must do). One window at a time: advance() gives what was added since
/// the cgroup's last advance().
class RunQueueSource {
 public:
  enum class Kind { kBpf, kSchedStat, kNone };

  /// `cgroups` outlives it.
  RunQueueSource(const kernel::HostRoots& roots, kernel::Cgroups& cgroups);
  /// Tries BPF when `bpf`. Some 100 ms (verifier, BTF): at the start, before the loop runs.
  void open(bool bpf);
  Kind kind() const { return kind_; }
  /// "bpf", "schedstat", "none".
  std::string name() const;
  /// Why it is not the one before in the ladder; "" for BPF.
  const std::string& why_not() const { return why_not_; }

  /// Whose tasks count as best effort. Costs a stat a cgroup, as advance() does.
  Result<void> set_best_effort(const std::vector<CgroupPath>& cgroups);
  /// What the tasks of these cgroups waited since their last advance(); nullopt: nothing to compare
  /// with yet, or no source. A cgroup that is gone adds nothing.
  std::optional<kernel::RunQueueCounters> advance(const std::vector<CgroupPath>& cgroups);
  /// Forgets all others.
  void keep_only(const std::vector<CgroupPath>& cgroups);

 private:
  struct Known {
    kernel::Inode id = 0;
    std::optional<kernel::RunQueueCounters> last;
  };
  std::optional<kernel::RunQueueCounters> read(const CgroupPath& path, Known& known);
  Known* find(const CgroupPath& path);

  kernel::Cgroups& cgroups_;
  kernel::TaskSchedStats threads_;
  std::unique_ptr<kernel::SchedLatency> bpf_;
  Kind kind_ = Kind::kNone;
  std::string why_not_ = "not opened";
  std::map<CgroupPath, Known> known_;
};

}  // namespace koordlet
