#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/cpu_set.hpp"
#include "k8s/kubelet_client.hpp"
#include "k8s/node_topology.hpp"
#include "model/node.hpp"
#include "model/pod.hpp"

namespace koordlet {

struct CpuBasicInfo {
  std::string model;   ///< "model name" of /proc/cpuinfo
  std::string vendor;  ///< "vendor_id"
  bool hyper_threads = false;
  bool turbo = false;
  std::string l3_mask;  ///< resctrl's cbm_mask, "" without resctrl
  friend bool operator==(const CpuBasicInfo&, const CpuBasicInfo&) = default;
};

/// Memory of one NUMA node; unknown is absent.
struct NumaMemory {
  std::optional<Bytes> total;  ///< MemTotal
  std::optional<Bytes> huge_1gi, huge_2mi;
};

struct TopologyInput {
  CpuTopology cpus;  ///< not empty: without it nothing is reported
  CpuBasicInfo basic;
  std::map<int, NumaMemory> numa;    ///< by node id
  std::shared_ptr<const Node> node;  ///< nullptr: not known, nothing is reported
  std::string node_uid;              ///< "" unknown
  std::map<std::string, std::string> node_labels;
  /// nullopt: the node has none at all.
  std::optional<std::map<std::string, std::string>> node_annotations;
  std::vector<std::shared_ptr<const Pod>> pods;
  std::map<std::string, CpuSet> kubelet_cpus;  ///< CpuManagerState::pods
  std::optional<k8s::KubeletConfig> kubelet;   ///< nullopt: not known
};

/// The CPUs that pods without CPUs of their own share. Both: all CPUs less those of kubelet's
/// static pods, the node's reservation and the system class. LS: less every allocated cpuset; BE:
/// less those of LSE pods.
struct CpuPools {
  struct Pool {
    int socket = 0;
    int numa = 0;
    CpuSet cpus;  ///< may be empty: the reservation took all
  };
  std::vector<Pool> ls, be;  ///< sorted by socket, then NUMA node
  CpuSet reserved;           ///< of the node's reservation annotation
};
CpuPools cpu_pools(const TopologyInput& input);

k8s::NodeTopology build_topology(const TopologyInput& input);

}  // namespace koordlet
