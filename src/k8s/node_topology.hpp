#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "base/cpu_set.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "model/node.hpp"

/// NodeResourceTopology, topology.node.k8s.io/v1alpha1: what the NUMA-aware scheduler reads.
namespace koordlet::k8s {

inline constexpr std::string_view kTopologies =
    "/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies";

/// One NUMA node as a zone. Unknown amounts are left out of the object.
struct Zone {
  int numa = 0;
  int cpus = 0;
  std::optional<Bytes> memory;  ///< MemTotal without huge pages
  std::optional<Bytes> huge_1gi, huge_2mi;
  MilliCpu cpu_reserved;  ///< capacity - allocatable
  Bytes memory_reserved;
  friend bool operator==(const Zone&, const Zone&) = default;
};

/// The parts of the object that koordlet owns; the rest of it belongs to others and stays.
struct NodeTopology {
  std::map<std::string, std::string> annotations;  ///< values are JSON
  std::string numa_reservation;  ///< label of the node that is copied; "": the node has none
  std::string policy = "None";   ///< the only entry of topologyPolicies
  std::vector<Zone> zones;
  friend bool operator==(const NodeTopology&, const NodeTopology&) = default;
};

boost::json::object new_node_topology(const std::string& name,
                                      const std::string& node_uid,
                                      const NodeTopology& want);

/// `current` with our parts replaced; nullopt when it says the same already: JSON by meaning, lists
/// in any order, CPU lists and quantities by value. Resources of others in a zone that stays are
/// kept. kParse: `current` is not such an object.
Result<std::optional<boost::json::object>> update_node_topology(const boost::json::value& current,
                                                                const NodeTopology& want);

/// CPUs that kubelet's static policy gave away, by pod uid, from its cpu_manager_state file; empty
/// under another policy. Pods and CPU lists that cannot be read are faults.
struct CpuManagerState {
  KubeletCpuPolicy policy = KubeletCpuPolicy::kUnknown;
  std::map<std::string, CpuSet> pods;
  std::vector<std::string> faults;
};
Result<CpuManagerState> decode_cpu_manager_state(const boost::json::value& file);

/// "node.koordinator.sh/reservation" as far as CPUs go; what cannot be read is as good as absent.
struct CpuReservation {
  CpuSet cpus;                  ///< reservedCPUs
  std::optional<MilliCpu> cpu;  ///< resources.cpu; counts only without reservedCPUs
};
CpuReservation decode_cpu_reservation(std::string_view annotation);

}  // namespace koordlet::k8s
