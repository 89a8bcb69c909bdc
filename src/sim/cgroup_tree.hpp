#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernel/cgroup_fs.hpp"

namespace koordlet::sim {

/// A cgroup tree in memory that refuses what the kernel refuses, and reads back what it reads back:
/// what the simulator's executor writes through, and the base of the tests' FakeCgroups.
/// Rules (kernel/sched/core.c, kernel/cgroup/cpuset.c, mm/memcontrol.c):
///  - cpu.max: quota 1000 us to 2^44 - 1 us, period 1000..1000000 us; v1: quota/period of a child
///    never above that of its nearest limited ancestor (kInvalid, checked in both directions).
///  - cpu.max.burst: never above a limited quota, and no quota below the burst.
///  - cpu.weight: v1 shares clamped to 2..262144, v2 1..10000 or kInvalid. cpu.idle 1: weight
///    writes are kInvalid and it reads 0 (v2) or 3 (v1); leaving idle resets it to 100 or 1024.
///  - cpuset: v1 child within its parent (kDenied), no shrink below a child (kBusy); emptying a
///    populated one is kBusy (ENOSPC) on both.
///  - memory: whole pages; min, low, high on v2 only. bvt only when offered.
///  - the root's files cannot be written, but for io.cost.*.
///  - disks: files and values of sim/cgroup_io.hpp, once add_disk() named one; a device number that
///    is no whole disk is kGone (ENODEV), one that is no number kInvalid.
class CgroupTree : public kernel::Cgroups {
 public:
  static constexpr std::int64_t kPage = 4096;

  explicit CgroupTree(CgroupVersion version, int cpus = 8);

  /// A whole disk of the machine by its number, "8:16"; from the first one on there are io files.
  void add_disk(std::string number);
  /// Makes the cgroup and its missing parents, with the kernel's defaults (v1 cpuset: the
  /// parent's).
  CgroupPath make(const CgroupPath& path);
  /// Removes the cgroup and everything below. A later make() gives another inode.
  void remove(const CgroupPath& path);
  /// Sets the value of a file that is there, unchecked: a foreign writer, or a first value.
  void set(const CgroupKey& key, const CgroupValue& value);
  /// Adds a vendor file (kCpuBvt; on v1 memory.min, low, high) with its first value.
  void offer(const CgroupKey& key, const CgroupValue& value);
  /// Takes one file away (an older kernel, a controller that is off).
  void withhold(const CgroupKey& key);
  /// No task in the cgroup: its cpuset may be emptied.
  void depopulate(const CgroupPath& path);
  /// The stored value without a copy, of cpu.weight also while cpu.idle hides it; nullptr: no such
  /// file, or no line of this disk. Until the next change of the tree.
  const CgroupValue* peek(const CgroupKey& key) const;

  CgroupVersion version() const override { return version_; }
  Result<CgroupValue> read(const CgroupKey& key) override;
  Result<void> write(const CgroupKey& key, const CgroupValue& value) override;
  Result<kernel::Inode> inode(const CgroupKey& key) override;
  Result<std::vector<std::string>> children(const CgroupPath& path) override;
  bool has(const CgroupKey& key) override;
  std::string file(const CgroupKey& key) const override;

 protected:
  /// "FILE: write 'VALUE': WHY".
  Error refuse(Errc code,
               const CgroupKey& key,
               const CgroupValue& value,
               std::string_view why) const;

 private:
  struct Group {
    kernel::Inode inode = 0;
    bool populated = true;
    std::map<CgroupFile, CgroupValue> files;
    std::map<std::pair<CgroupFile, std::string>, CgroupValue> lines;  ///< io files, by disk
  };
  using Groups = std::map<CgroupPath, Group>;
  /// The first group that sorts behind `path` and may be below it; all that are follow in one run.
  Groups::const_iterator first_below(const CgroupPath& path) const;
  std::int64_t own_ratio(const Group& group) const;
  std::int64_t ratio_above(const CgroupPath& path) const;
  Result<void> check_cpu_max(const CgroupKey& key, const CpuMax& value) const;
  Result<void> check_cpuset(const CgroupKey& key, const CpuSet& value) const;
  bool has_io(const CgroupKey& key) const;
  Result<void> write_io(Group& group, const CgroupKey& key, const CgroupValue& value);
  Result<CgroupValue> accept(Group& group, const CgroupKey& key, const CgroupValue& value) const;

  CgroupVersion version_;
  int cpus_;
  kernel::Inode next_inode_ = 100;
  Groups groups_;
  std::set<std::string> disks_;
};

}  // namespace koordlet::sim
