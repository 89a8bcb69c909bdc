#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "kernel/cgroup_fs.hpp"

namespace koordlet {

/// One core scheduling cookie for the tasks of all BE pods, so that BE shares a physical core with
/// BE alone. A task that has a cookie of its own already (a container that schedules its cores
/// itself) is left with it. After a restart a cookie that tasks of two pods share is taken for
/// koordlet's: a container's own never leaves its pod. One call at a time, on the loop.
class CoreCookies {
 public:
  CoreCookies(kernel::HostRoots roots, kernel::Cgroups& cgroups)
      : roots_{std::move(roots)}, cgroups_{cgroups} {}

  /// `pods` of policy::core_sched_wish(); empty: the cookie is taken away again from every task
  /// that was given it. In slices of 2 ms.
  boost::asio::awaitable<void> reconcile(std::vector<CgroupPath> pods);
  /// Shutdown: as an empty wish, without a wait.
  void clear_all();

  std::uint64_t tasks() const { return given_.size(); }  ///< that have the cookie by koordlet
  const std::vector<std::string>& faults() const { return faults_; }

 private:
  struct Seen {
    std::vector<int> with, without;  ///< the cookie of koordlet; none
  };
  boost::asio::awaitable<Seen> look(const std::vector<CgroupPath>& pods);
  void fault(std::string line);

  kernel::HostRoots roots_;
  kernel::Cgroups& cgroups_;
  std::uint64_t cookie_ = 0;  ///< 0: none was made yet
  std::vector<int> given_;    ///< sorted
  std::vector<std::string> faults_;
};

}  // namespace koordlet
