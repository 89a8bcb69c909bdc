#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/cgroup.hpp"
#include "base/result.hpp"
#include "kernel/cgroup_fs.hpp"
#include "kernel/cgroup_layout.hpp"

namespace koordlet::demo {

/// A kubepods-shaped tree on this machine's own cgroups: made by the constructor function, removed
/// by the destructor. It refuses to touch a kubepods tree that it did not make.
class DemoTree {
 public:
  struct Pod {
    KubeQos qos;
    std::string uid;
    std::string container_id;
  };
  /// be_shares: 0 leaves the kernel's default weight on the best-effort class.
  static Result<DemoTree> make(const kernel::HostRoots& roots,
                               CgroupVersion version,
                               CgroupDriver driver,
                               const std::vector<Pod>& pods,
                               int be_shares);
  DemoTree(DemoTree&&) = default;
  DemoTree& operator=(DemoTree&&) = delete;
  ~DemoTree();

  const kernel::CgroupLayout& layout() const { return layout_; }
  /// cgroup.procs of one container in each hierarchy.
  std::vector<std::string> procs_files(const Pod& pod) const;
  /// The kubelet's part when a pod ends; its tasks must be gone.
  void remove_pod(const Pod& pod);
  /// Every control file that koordlet could have changed, with its content: equal before and after
  /// means restored.
  std::map<std::string, std::string> contents() const;

 private:
  DemoTree(kernel::HostRoots roots, CgroupVersion version, CgroupDriver driver);
  Result<void> make_dir(const CgroupPath& path);
  std::vector<std::string> dirs_of(const CgroupPath& path) const;
  void remove();
  void remove_dir(const CgroupPath& path);

  kernel::HostRoots roots_;
  CgroupVersion version_;
  kernel::CgroupLayout layout_;
  std::vector<CgroupPath> made_;  ///< parents first
};

}  // namespace koordlet::demo
