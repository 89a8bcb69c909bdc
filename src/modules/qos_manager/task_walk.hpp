#pragma once

#include <chrono>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "kernel/cgroup_fs.hpp"

namespace koordlet {

/// Gives the loop back after each 2 ms of work.
class WorkSlice {
 public:
  boost::asio::awaitable<void> pause();

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// All task ids in and below the cgroups, sorted, each once. A cgroup that is gone or cannot be
/// read has none. Everything that is referred to must outlive the task.
boost::asio::awaitable<std::vector<int>> tasks_below(kernel::Cgroups& cgroups,
                                                     const kernel::HostRoots& roots,
                                                     const std::vector<CgroupPath>& paths,
                                                     WorkSlice& slice);

}  // namespace koordlet
