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

/// The control files as typed values; the seam that the executor and tests share (FakeCgroups in
/// test/support refuses what the kernel refuses). Implementations are used from one thread at a
/// time.
class Cgroups {
 public:
  virtual ~Cgroups() = default;
  virtual CgroupVersion version() const = 0;
  /// kNotFound: no such cgroup or file (a v1-only or vendor file included); kGone: removed during
  /// the call.
  virtual Result<CgroupValue> read(const CgroupKey& key) = 0;
  /// Writes exactly the value. kInvalid, kBusy, kDenied as the kernel says, with path, value and
  /// errno in the context.
  virtual Result<void> write(const CgroupKey& key, const CgroupValue& value) = 0;
  virtual Result<Inode> inode(const CgroupPath& path) = 0;
  /// Directories below `path`, sorted; v1: of the cpu hierarchy.
  virtual Result<std::vector<std::string>> children(const CgroupPath& path) = 0;
  virtual bool has(const CgroupKey& key) = 0;
  /// Absolute file of a key, for people: "/sys/fs/cgroup/cpu/kubepods/cpu.cfs_quota_us".
  virtual std::string file(const CgroupKey& key) const = 0;
};

/// The real tree. Reads go through kept-open descriptors (a bounded LRU), writes open anew.
class CgroupFs final : public Cgroups {
 public:
  CgroupFs(HostRoots roots, CgroupVersion version, std::size_t descriptor_budget = 2048);
  ~CgroupFs() override;
  CgroupVersion version() const override;
  Result<CgroupValue> read(const CgroupKey& key) override;
  Result<void> write(const CgroupKey& key, const CgroupValue& value) override;
  Result<Inode> inode(const CgroupPath& path) override;
  Result<std::vector<std::string>> children(const CgroupPath& path) override;
  bool has(const CgroupKey& key) override;
  std::string file(const CgroupKey& key) const override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace koordlet::kernel
