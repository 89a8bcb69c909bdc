#pragma once

#include <map>
#include <string>

#include "base/cpu_set.hpp"
#include "model/node.hpp"

namespace koordlet {

/// What kubelet's CPU manager keeps on disk.
struct KubeletCpus {
  KubeletCpuPolicy policy = KubeletCpuPolicy::kUnknown;
  /// CPUs of its own that the static policy gave to a pod (Guaranteed, whole CPUs), by uid. Empty
  /// under another policy.
  std::map<std::string, CpuSet> exclusive;
  std::string fault;  ///< why the file tells nothing, or only a part; "" it does
  friend bool operator==(const KubeletCpus&, const KubeletCpus&) = default;
};

}  // namespace koordlet
