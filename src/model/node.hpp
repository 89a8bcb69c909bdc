#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cpu_set.hpp"
#include "base/units.hpp"

namespace koordlet {

enum class KubeletCpuPolicy { kUnknown, kNone, kStatic };
/// By the name that kubelet uses everywhere; any other is unknown.
constexpr KubeletCpuPolicy kubelet_cpu_policy(std::string_view name) {
  if (name == "static") return KubeletCpuPolicy::kStatic;
  return name == "none" ? KubeletCpuPolicy::kNone : KubeletCpuPolicy::kUnknown;
}

struct Node {
  std::string name;
  MilliCpu cpu_capacity;  ///< status.capacity; 0 = unknown
  Bytes memory_capacity;
  std::optional<MilliCpu> cpu_allocatable;
  std::optional<Bytes> memory_allocatable;
  /// What allocatable was before it was amplified (annotation node.koordinator.sh/raw-allocatable);
  /// nullopt: it was not.
  std::optional<MilliCpu> raw_cpu_allocatable;
  std::optional<Bytes> raw_memory_allocatable;
  std::optional<MilliCpu> batch_cpu_allocatable;
  std::optional<Bytes> batch_memory_allocatable;
  std::optional<MilliCpu> mid_cpu_allocatable;
  std::optional<Bytes> mid_memory_allocatable;
  MilliCpu cpu_reserved;  ///< max(capacity - allocatable, reservation annotation), never below 0
  Bytes memory_reserved;
  CpuSet reserved_cpus;  ///< node.koordinator.sh/reservation, reservedCPUs
  CpuSet system_cpus;    ///< node.koordinator.sh/system-qos-resource when exclusive
  /// Labels and annotations of koordinator.sh and its sub-domains, as they stand.
  std::map<std::string, std::string> labels, annotations;
  KubeletCpuPolicy cpu_policy =
      KubeletCpuPolicy::kUnknown;  ///< kubelet.koordinator.sh/cpu-manager-policy
  friend bool operator==(const Node&, const Node&) = default;
};

/// One logical CPU as the picker of the cpuset policy needs it.
struct Processor {
  int cpu = 0;
  int core = 0;
  int socket = 0;
  int numa = 0;
  friend bool operator==(const Processor&, const Processor&) = default;
};
using CpuTopology = std::vector<Processor>;

}  // namespace koordlet
