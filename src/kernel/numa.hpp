#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "kernel/host.hpp"

namespace koordlet::kernel {

/// used = max(0, MemTotal - (MemFree + Active(file) + Inactive(file) + SReclaimable)): reference
/// metrics 2.1.
struct NumaUse {
  int node = 0;
  Bytes total, used;
};
/// Text of <sys>/bus/node/devices/nodeN/meminfo; lines start with "Node N ". A missing line,
/// another node's line or content that is cut is kParse, here and below.
Result<NumaUse> parse_numa_use(int node, std::string_view text);
/// All nodes with memory, by id; ids keep their gaps; generic initiators and nodes of CPUs alone
/// have none and are left out. kNotFound: this kernel has no NUMA folder.
Result<std::vector<NumaUse>> read_numa_use(const HostRoots& roots);

/// Used ticks of each online CPU (columns as CpuTicks), from the "cpuN" lines of /proc/stat.
Result<std::map<int, std::uint64_t>> parse_cpu_lines(std::string_view proc_stat);

/// Memory of one cgroup by node, in bytes: v1 `memory.numa_stat` (hierarchical_total line, pages of
/// `page_size`), v2 (anon + file, bytes). Reference metrics 10.3.
Result<std::map<int, Bytes>> parse_cgroup_numa_v1(std::string_view text, std::int64_t page_size);
Result<std::map<int, Bytes>> parse_cgroup_numa_v2(std::string_view text);

}  // namespace koordlet::kernel
