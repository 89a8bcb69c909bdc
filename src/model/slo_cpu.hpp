#pragma once

#include <optional>

namespace koordlet {

/// cpuQOS of one class, as stated.
struct CpuQosClass {
  std::optional<bool> enable;
  std::optional<int> group_identity;  ///< -1..2
  std::optional<bool> sched_idle;
  friend bool operator==(const CpuQosClass&, const CpuQosClass&) = default;
};
/// resourceQOSStrategy.{lsrClass,lsClass,beClass}.cpuQOS and policies.cpuPolicy.
struct CpuQosStrategy {
  CpuQosClass lsr, ls, be;
  std::optional<bool> core_sched;  ///< cpuPolicy: "coreSched", or "groupIdentity"
  friend bool operator==(const CpuQosStrategy&, const CpuQosStrategy&) = default;
};

}  // namespace koordlet
