#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

#include "latency.hpp"

namespace koordlet::demo {

/// What the demo and its load processes share (one anonymous shared mapping).
struct LoadControl {
  std::atomic<int> ls_duty_permille{0};  ///< share of each period that an LS thread works
  std::atomic<int> be_duty_permille{0};  ///< 0: BE sleeps, 1000: it never pauses
  std::atomic<bool> stop{false};
  Latency wakeup;  ///< how late the LS threads woke
};

LoadControl& make_load_control();

/// A process with `threads` threads inside the cgroups whose cgroup.procs files are given. LS: one
/// thread a CPU, pinned, waking each `period`. BE: busy threads. It ends with its parent. -1 when
/// it could not be started.
pid_t start_ls(LoadControl& control,
               const std::vector<std::string>& procs_files,
               int threads,
               std::chrono::microseconds period);
pid_t start_be(LoadControl& control, const std::vector<std::string>& procs_files, int threads);
void stop_process(pid_t pid);

}  // namespace koordlet::demo
