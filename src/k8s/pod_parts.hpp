#pragma once

#include <optional>
#include <vector>

#include "k8s/fields.hpp"
#include "model/pod.hpp"

/// The parts of a Pod object that have rules of their own.
namespace koordlet::k8s {

/// spec.containers and spec.initContainers, in that order. Names are DNS labels and unique.
std::vector<Container> decode_containers(const Fields& spec);

/// Ids, running state and, of running containers, the CPU and memory they have got, from
/// status.containerStatuses and status.initContainerStatuses.
void apply_statuses(const Fields& status, std::vector<Container>& containers);

/// Requests and limits of `resources` as the API server fills them in: a limit is the request where
/// none is given.
struct RequestsAndLimits {
  Resources requests;
  Resources limits;
};
RequestsAndLimits decode_resources(const Fields& owner);

/// spec.overhead.
Resources decode_overhead(const Fields& spec);

/// numaNodeResources of annotation scheduling.koordinator.sh/resource-status: the NUMA nodes whose
/// entry states CPU or batch CPU.
std::vector<int> decode_numa_nodes(const Fields& status);

/// The rule of kubelet and API server: cpu and memory alone count, zero is as good as absent.
/// Guaranteed: every container has both limits and requests equal to them. `pod_level`:
/// spec.resources, which decides alone when it states either resource.
KubeQos compute_kube_qos(const std::vector<Container>& containers,
                         const std::optional<RequestsAndLimits>& pod_level);

}  // namespace koordlet::k8s
