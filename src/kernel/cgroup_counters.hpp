#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/cgroup.hpp"
#include "base/result.hpp"
#include "kernel/host.hpp"
#include "kernel/io_counters.hpp"
#include "kernel/procfs.hpp"

namespace koordlet::kernel {

/// Monotonic counters of one cgroup, v1 and v2 alike.
struct CpuCounters {
  std::chrono::nanoseconds usage{0};
};
struct ThrottleCounters {
  std::uint64_t periods = 0;
  std::uint64_t throttled = 0;
  std::chrono::nanoseconds throttled_time{0};
};
/// Bytes; reference: metrics-and-prediction 1.4.
struct MemoryStat {
  Bytes inactive_anon, active_anon, inactive_file, active_file, unevictable;
  Bytes without_cache() const { return inactive_anon + active_anon + unevictable; }
  Bytes with_cache() const { return without_cache() + inactive_file + active_file; }
};

/// Reads counters through kept-open descriptors. One LRU budget for all; a file that went away is
/// dropped and gives kGone or kNotFound; content that is cut is kParse. Never reads memory.stat of
/// the root cgroup (kNotSupported). Cheapest when the files of one cgroup are asked for one after
/// the other. Where a living cgroup lacks a file of pressure, io or numa, the next 4 to 64
/// questions for it are answered with kNotSupported from memory (GroupFiles::Kind). One
/// thread at a time.
class CgroupCounters {
 public:
  CgroupCounters(HostRoots roots, CgroupVersion version, std::size_t descriptor_budget = 12'000);
  ~CgroupCounters();
  Result<CpuCounters> cpu(const CgroupPath& path);
  /// v2 without the cpu controller has no such keys: kNotSupported.
  Result<ThrottleCounters> throttle(const CgroupPath& path);
  /// Every wanted key must be there: kParse names the missing one.
  Result<MemoryStat> memory(const CgroupPath& path);
  Result<Bytes> memory_usage(const CgroupPath& path);
  /// "cpu", "memory", "io" (kRange for others). v1 has the files on vendor kernels only (below
  /// cpuacct): kNotSupported where this kernel has none.
  Result<Psi> pressure(const CgroupPath& path, std::string_view resource);
  /// Every device of the cgroup, its children included.
  Result<std::vector<IoCounters>> io(const CgroupPath& path);
  /// Bytes on each NUMA node, children included.
  Result<std::map<int, Bytes>> numa(const CgroupPath& path);
  void forget(const CgroupPath& path);  ///< closes what is open for a removed cgroup
  std::size_t open_files() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace koordlet::kernel
