#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/cpu_set.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "kernel/host.hpp"

namespace koordlet::kernel {

/// What kind of CPU this is.
struct CpuModel {
  std::string vendor;  ///< "vendor_id" of /proc/cpuinfo, "" where the machine has no such line
  std::string name;    ///< "model name"
  std::optional<bool> turbo;  ///< intel_pstate/no_turbo or cpufreq/boost; nullopt: neither is there
  std::string l3_mask;        ///< resctrl's info/L3/cbm_mask, "" without resctrl
};
/// kNotFound: no cpuinfo.
Result<CpuModel> read_cpu_model(const HostRoots& roots);

/// <sys>/devices/system/cpu/smt/active: threads share cores now. nullopt: the kernel does not say.
std::optional<bool> read_smt_active(const HostRoots& roots);

enum class CacheType { kData, kInstruction, kUnified };
/// One cache of the machine.
struct CpuCache {
  int level = 0;
  CacheType type = CacheType::kUnified;
  Bytes size;
  CpuSet cpus;            ///< online CPUs that share it
  std::optional<int> id;  ///< the number that resctrl knows it by; ids may have gaps
};
/// Each cache once, by level, type and first CPU, from <sys>/devices/system/cpu/cpuN/cache/indexM
/// of the online CPUs. Costs some 40 us a cache: at start and on demand. A CPU without this folder
/// (many virtual machines) adds nothing, and so does a cache whose size or sharing the kernel does
/// not say; kNotFound: no list of online CPUs; kParse names a damaged file.
Result<std::vector<CpuCache>> read_caches(const HostRoots& roots);

/// Memory of one NUMA node. Absent: the kernel does not say.
struct NumaNodeMemory {
  std::optional<Bytes> total;  ///< MemTotal
  std::optional<Bytes> huge_1gi, huge_2mi;
};
/// By node id. A node without memory information (a generic initiator) is left out; a kernel
/// without NUMA gives none.
Result<std::map<int, NumaNodeMemory>> read_numa_memory(const HostRoots& roots);

}  // namespace koordlet::kernel
