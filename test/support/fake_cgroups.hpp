#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "kernel/cgroup_fs.hpp"

namespace koordlet::test {

/// A cgroup tree in memory that refuses what the kernel refuses, and reads back what it reads back.
/// Rules (kernel/sched/core.c, kernel/cgroup/cpuset.c, mm/memcontrol.c):
///  - cpu.max: quota >= 1000 us, period 1000..1000000 us; v1: quota/period of a child never above
///    that of its nearest limited ancestor (kInvalid, checked in both directions). cpu.max.burst:
///    never above a limited quota, and no quota below the burst.
///  - cpu.weight: v1 shares clamped to 2..262144, v2 1..10000 or kInvalid. cpu.idle 1: weight
///    writes are kInvalid and it reads 0 (v2) or 3 (v1); leaving idle resets it to 100 or 1024.
///  - cpuset: v1 child within its parent (kDenied), no shrink below a child (kBusy); emptying a
///    populated one is kBusy (ENOSPC) on both.
///  - memory: whole pages; min, low, high on v2 only. bvt only when offered.
class FakeCgroups final : public kernel::Cgroups {
 public:
  static constexpr std::int64_t kPage = 4096;

  explicit FakeCgroups(CgroupVersion version, int cpus = 8);

  /// Makes the cgroup and its missing parents, with the kernel's defaults (v1 cpuset: the
  /// parent's).
  CgroupPath make(std::string_view path);
  /// Removes the cgroup and everything below. A later make() gives another inode.
  void remove(const CgroupPath& path);
  /// A foreign writer: sets the value behind the back, unchecked and not logged.
  void set(const CgroupKey& key, const CgroupValue& value);
  /// What systemd believes the unit to have; daemon_reload() puts it back.
  void set_unit(const CgroupKey& key, const CgroupValue& value);
  void daemon_reload();
  /// Adds a vendor file (kCpuBvt; on v1 memory.min, low, high) with its first value.
  void offer(const CgroupKey& key, const CgroupValue& value);
  /// Takes one file away (an older kernel, a controller that is off).
  void withhold(const CgroupKey& key);
  /// No task in the cgroup: its cpuset may be emptied.
  void depopulate(const CgroupPath& path);

  /// The next `times` writes of `key` fail with `code`.
  void fail_next(const CgroupKey& key, Errc code, int times = 1);
  /// The next write of `key` finds the cgroup removed meanwhile (kGone).
  void remove_during_write(const CgroupKey& key);
  /// Called before every write attempt; may change the tree, or throw to play a crash.
  void on_write(std::function<void(const CgroupKey&, const CgroupValue&)> hook);

  struct Write {
    CgroupKey key;
    CgroupValue value;
  };
  /// Accepted writes, in order.
  const std::vector<Write>& log() const { return log_; }
  /// The same as text: "/kubepods/besteffort cpu.max = 120000 100000".
  std::vector<std::string> log_text() const;
  void clear_log() { log_.clear(); }
  int attempts() const { return attempts_; }  ///< writes tried, refused ones included
  int reads() const { return reads_; }
  /// Canonical text of the present value, "-" when there is none.
  std::string text(const CgroupKey& key);

  CgroupVersion version() const override { return version_; }
  Result<CgroupValue> read(const CgroupKey& key) override;
  Result<void> write(const CgroupKey& key, const CgroupValue& value) override;
  Result<kernel::Inode> inode(const CgroupKey& key) override;
  Result<kernel::Inode> inode(const CgroupPath& path) { return inode(CgroupKey{path, {}}); }
  Result<std::vector<std::string>> children(const CgroupPath& path) override;
  bool has(const CgroupKey& key) override;
  std::string file(const CgroupKey& key) const override;

 private:
  struct Group {
    kernel::Inode inode = 0;
    bool populated = true;
    std::map<CgroupFile, CgroupValue> files;
    std::map<CgroupFile, CgroupValue> unit;
  };
  struct Fault {
    Errc code;
    int times;
  };
  Error refuse(Errc code, const CgroupKey& key, const CgroupValue& value, const char* why) const;
  Result<void> check_cpu_max(const CgroupKey& key, const CpuMax& value) const;
  Result<void> check_cpuset(const CgroupKey& key, const CpuSet& value) const;
  Result<CgroupValue> accept(Group& group, const CgroupKey& key, const CgroupValue& value) const;

  CgroupVersion version_;
  int cpus_;
  kernel::Inode next_inode_ = 100;
  std::map<CgroupPath, Group> groups_;
  std::map<CgroupKey, Fault> faults_;
  std::set<CgroupKey> doomed_;
  std::function<void(const CgroupKey&, const CgroupValue&)> hook_;
  std::vector<Write> log_;
  int attempts_ = 0;
  int reads_ = 0;
};

/// Short spellings for tests.
CgroupPath path_of(std::string_view text);
CgroupKey key_of(std::string_view path, CgroupFile file);
CgroupValue cpu_max(std::int64_t quota_us, std::int64_t period_us = 100'000);
CgroupValue cpu_unlimited(std::int64_t period_us = 100'000);
CgroupValue cpus(std::string_view list);
CgroupValue bytes(std::int64_t n);
CgroupValue bytes_unlimited();
CgroupValue number(std::int64_t n);

}  // namespace koordlet::test
