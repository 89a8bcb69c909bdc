#pragma once

#include <vector>

#include "base/cpu_set.hpp"
#include "model/node.hpp"

namespace koordlet {

/// CPUs of one NUMA node that pods share.
struct CpuPool {
  int numa = 0;
  CpuSet cpus;
  friend bool operator==(const CpuPool&, const CpuPool&) = default;
};

/// What is known of the node's CPU allocation (annotations of NodeResourceTopology).
struct NodeCpuPools {
  std::vector<CpuPool> shared;
  std::vector<CpuPool> be;     ///< used only with `be_manager`
  bool be_manager = false;     ///< BE pods follow their NUMA allocation too
  CpuSet system;               ///< for pods of label SYSTEM; empty: none
  KubeletCpuPolicy kubelet{};  ///< static: kubelet owns what is not ours
  friend bool operator==(const NodeCpuPools&, const NodeCpuPools&) = default;
};

}  // namespace koordlet
