#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/cgroup.hpp"
#include "base/result.hpp"
#include "kernel/host.hpp"

namespace koordlet::kernel {

/// Identity of a cgroup directory: a removed and re-made cgroup of the same name has another inode.
using Inode = std::uint64_t;

/// The control files as typed values; the seam that the executor, the simulator and tests share
/// (FakeCgroups in test/support refuses what the kernel refuses). Implementations are used from one
/// thread at a time.
class Cgroups {
 public:
  virtual ~Cgroups() = default;
  virtual CgroupVersion version() const = 0;
  /// kNotFound: no such cgroup; kNotSupported: the cgroup is there, but has no such file (v2-only,
  /// vendor, controller not enabled or not mounted; one being removed may say so for a moment, so
  /// do not remember it for others); kGone: removed during the call; kParse: damaged content.
  virtual Result<CgroupValue> read(const CgroupKey& key) = 0;
  /// Writes exactly the value. kRange before any write: outside the kernel's range, wrong kind, or
  /// an empty v1 cpuset. kInvalid (a cpuset outside its v1 parent included), kBusy, kDenied as the
  /// kernel says, with path, value and errno in the context; missing files as in read(). The kernel
  /// rounds memory bounds down to whole pages: give page multiples, or the value reads back lower.
  virtual Result<void> write(const CgroupKey& key, const CgroupValue& value) = 0;
  /// Identity of what holds the setting: the cgroup, the resctrl group, or the file of the machine.
  virtual Result<Inode> inode(const CgroupKey& key) = 0;
  /// Directories below `path`, sorted; v1: of the cpu hierarchy. Names that CgroupPath refuses are
  /// left out.
  virtual Result<std::vector<std::string>> children(const CgroupPath& path) = 0;
  virtual bool has(const CgroupKey& key) = 0;
  /// Absolute file of a key, for people: "/sys/fs/cgroup/cpu/kubepods/cpu.cfs_quota_us".
  virtual std::string file(const CgroupKey& key) const = 0;
};

/// The real tree. Reads and writes go through kept-open descriptors (a bounded LRU). v1
/// kCpuMax is two files: write() writes only the one that differs, and when both do, in the order
/// that is never looser on the way; if the second is refused the first is put back. v1 kIoMax is
/// four files: those that differ are written, and put back when one is refused.
class CgroupFs final : public Cgroups {
 public:
  CgroupFs(HostRoots roots, CgroupVersion version, std::size_t descriptor_budget = 2048);
  ~CgroupFs() override;
  CgroupVersion version() const override;
  Result<CgroupValue> read(const CgroupKey& key) override;
  Result<void> write(const CgroupKey& key, const CgroupValue& value) override;
  Result<Inode> inode(const CgroupKey& key) override;
  Result<std::vector<std::string>> children(const CgroupPath& path) override;
  bool has(const CgroupKey& key) override;
  std::string file(const CgroupKey& key) const override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Identity of the directory of `path` (v1: in the cpu hierarchy). kNotFound: no such cgroup.
Result<Inode> cgroup_inode(const HostRoots& roots, CgroupVersion version, const CgroupPath& path);

/// The CPUs that tasks of `path` really get: v2 cpuset.cpus.effective, of the nearest ancestor
/// where the cgroup has no cpuset controller; v1 cpuset.cpus (empty: nothing can run there).
/// kNotFound: no such cgroup.
Result<CpuSet> read_effective_cpus(const HostRoots& roots,
                                   CgroupVersion version,
                                   const CgroupPath& path);

}  // namespace koordlet::kernel
