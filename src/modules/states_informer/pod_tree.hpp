#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kernel/cgroup_fs.hpp"
#include "kernel/cgroup_layout.hpp"

namespace koordlet::states {

/// Where directories are watched for entries that come and go: inotify, or a list in tests.
class Watches {
 public:
  virtual ~Watches() = default;
  /// Watching twice is no error. kNotFound: no such directory. kBusy: the limit is reached.
  virtual Result<void> watch(const std::string& dir) = 0;
  virtual void unwatch(const std::string& dir) = 0;
};

/// The kubepods tree as far as it must be watched: the tiers and the pods' directories. Every
/// directory is listed after it is watched, so what came before the watch is seen as well. Holds no
/// descriptors.
class PodTree {
 public:
  explicit PodTree(kernel::Cgroups& cgroups) : cgroups_{cgroups} {}

  /// Looks at the tiers: watches what is there and not watched, drops what is gone. True: a pod's
  /// directory came or went since the last look. Without a layout nothing is watched. The pods'
  /// directories follow in steps, so that many pods never hold the loop.
  bool begin_rescan(const std::optional<kernel::CgroupLayout>& layout, Watches& watches);
  /// Looks at up to `count` of the pods' directories that are left. True: a container's came or
  /// went.
  bool step(std::size_t count, Watches& watches);
  bool rescan_done() const { return todo_.empty(); }

  /// One event of a watched directory. `came`: the entry was made, else it went. True as for
  /// rescan.
  bool on_entry(const std::string& dir, const std::string& name, bool came, Watches& watches);
  /// The watch of `dir` ended with its directory. True when that was a pod's.
  bool on_gone(const std::string& dir, Watches& watches);

  /// Why some directory is not watched (the limit of inotify); "" when all are. Such directories
  /// are looked at on each rescan only.
  const std::string& fault() const { return fault_; }
  std::size_t size() const { return dirs_.size(); }

 private:
  struct Dir {
    CgroupPath path;
    std::optional<KubeQos> tier;    // nullopt: a pod's directory
    std::set<std::string> entries;  // pods or containers, by directory name
  };
  std::optional<std::set<std::string>> watch_and_list(const Dir& dir, Watches& watches);
  bool look_at_tier(KubeQos tier, Watches& watches);
  bool look_at_pod(const CgroupPath& path, Watches& watches);
  bool drop(const std::string& dir, Watches& watches);
  bool counts(const Dir& dir, const std::string& name) const;
  std::string dir_of(const CgroupPath& path) const;

  kernel::Cgroups& cgroups_;
  std::optional<kernel::CgroupLayout> layout_;
  std::map<std::string, Dir> dirs_;  // by absolute directory
  std::vector<CgroupPath> todo_;     // pods that the rescan has yet to look at
  std::string fault_;
};

}  // namespace koordlet::states
