#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cpu_set.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "kernel/disk_stats.hpp"
#include "kernel/fd.hpp"
#include "kernel/host.hpp"

namespace koordlet::kernel {

/// user + nice + system + irq + softirq of the "cpu" line, in ticks of 1/ticks_per_second s (guest
/// is inside user).
struct CpuTicks {
  std::uint64_t used = 0;
  std::uint64_t steal = 0;
};
Result<CpuTicks> parse_proc_stat(std::string_view text);

struct MemInfo {
  Bytes total;
  Bytes available;
  std::optional<Bytes> free{};  ///< MemFree, which the kernel prints between the two
};
/// kB of the file become bytes. A missing MemTotal or MemAvailable is kParse.
Result<MemInfo> parse_meminfo(std::string_view text);

struct Psi {
  struct Line {
    double avg10 = 0, avg60 = 0, avg300 = 0;  ///< percent
    std::chrono::microseconds total{0};
  };
  Line some;
  std::optional<Line> full;  ///< absent on older kernels and for the cpu of the root
};
/// An unknown line prefix is skipped; a file without a "some" line is kParse.
Result<Psi> parse_psi(std::string_view text);

struct CpuInfo {
  int cpu = 0;
  int core = 0;  ///< index over the whole machine: SMT siblings share it, two sockets never do
  int socket = 0;
  int numa = 0;
};
/// Online CPUs, ascending, with their core, socket and NUMA node from
/// <sys>/devices/system/{cpu,node}; missing topology reads as 0. Node ids keep their gaps. Without
/// the list of online CPUs: kNotFound.
Result<std::vector<CpuInfo>> read_topology(const HostRoots& roots);

/// The node's own counters through kept-open descriptors. Content that is cut is kParse. One thread
/// at a time.
class ProcFs {
 public:
  explicit ProcFs(HostRoots roots);
  Result<CpuTicks> stat();
  Result<MemInfo> meminfo();
  /// "cpu", "memory", "io" (kRange for others); kNotFound without PSI, kNotSupported when it is
  /// compiled in and switched off.
  Result<Psi> pressure(std::string_view resource);
  Result<std::vector<DiskCounters>> disks();
  /// Of this process's network namespace; the loopback interface is left out.
  Result<std::vector<NetCounters>> network();
  /// Used ticks of each CPU, as stat() read them last (reading the file builds it whole, so once a
  /// tick). kNotFound before the first stat(), and after one that failed.
  Result<std::map<int, std::uint64_t>> cpu_lines() const;
  static long ticks_per_second();  ///< sysconf(_SC_CLK_TCK)

 private:
  HostRoots roots_;
  std::optional<KeptFile> stat_, meminfo_, disks_, network_;
  std::string stat_text_;                ///< of the last stat()
  std::optional<KeptFile> pressure_[3];  ///< cpu, memory, io
};

}  // namespace koordlet::kernel
