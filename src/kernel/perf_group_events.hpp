#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "kernel/fd.hpp"
#include "kernel/perf_group.hpp"

/// From an event's name to its descriptor: for perf_group*.cpp alone.
namespace koordlet::kernel {

/// What the events count: one thread (pid 0: this one, on any CPU) or one cgroup on one CPU.
struct PerfTarget {
  int pid = 0;  ///< or the descriptor of the cgroup's directory
  int cpu = -1;
  bool is_cgroup = false;
};

/// Opens one group, leader first, disabled. `where` goes into the context of errors, behind the
/// event's name.
Result<std::vector<Fd>> open_perf_group(const std::vector<PerfEventSpec>& events,
                                        const PerfTarget& target,
                                        const std::string& where);

}  // namespace koordlet::kernel
