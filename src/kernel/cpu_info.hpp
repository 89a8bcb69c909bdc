#pragma once

#include <map>
#include <optional>
#include <string>

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

/// Memory of one NUMA node. Absent: the kernel does not say.
struct NumaNodeMemory {
  std::optional<Bytes> total;  ///< MemTotal
  std::optional<Bytes> huge_1gi, huge_2mi;
};
/// By node id. A node without memory information (a generic initiator) is left out; a kernel
/// without NUMA gives none.
Result<std::map<int, NumaNodeMemory>> read_numa_memory(const HostRoots& roots);

}  // namespace koordlet::kernel
