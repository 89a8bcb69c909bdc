#pragma once

#include <functional>
#include <memory>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "base/clock.hpp"
#include "kernel/cgroup_fs.hpp"
#include "modules/states_informer/pod_tree.hpp"

namespace koordlet::states {

/// The kubepods trees under inotify, whatever the source: a pod's or container's directory that
/// comes or goes is seen within milliseconds, and each `rescan` all is looked at again.
class TreeWatch {
 public:
  /// `find_layout` looks for the tree and returns its layout, `changed` hears of each change.
  TreeWatch(boost::asio::any_io_executor ex,
            kernel::Cgroups& cgroups,
            const Clock& clock,
            std::chrono::milliseconds rescan,
            std::function<const std::optional<kernel::CgroupLayout>&()> find_layout,
            std::function<void()> changed);
  ~TreeWatch();
  boost::asio::awaitable<void> run();  ///< until cancelled
  std::string fault() const;           ///< "" when every directory is watched

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace koordlet::states
