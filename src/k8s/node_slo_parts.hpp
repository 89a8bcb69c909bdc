#pragma once

#include <map>
#include <optional>
#include <string>

#include "k8s/fields.hpp"
#include "model/slo_burst.hpp"
#include "model/slo_memory.hpp"

/// Sections of a NodeSLO that have a file of their own, and the pod annotations that overlay them.
/// A refused field keeps its value of `last`; in an annotation it counts as absent.
namespace koordlet::k8s {

/// spec.cpuBurstStrategy
std::optional<CpuBurstStrategy> decode_burst(const Fields& spec,
                                             const std::optional<CpuBurstStrategy>& last);
/// Annotation koordinator.sh/cpuBurst; nullopt: absent, or no JSON object.
std::optional<CpuBurstStrategy> decode_burst_annotation(
    const std::map<std::string, std::string>& annotations, Refusals& refusals);

/// spec.resourceQOSStrategy.<class>.memoryQOS
MemoryQosClasses decode_memory_qos(const Fields& spec, const MemoryQosClasses& last);
/// Annotation koordinator.sh/memoryQOS; nullopt: absent, no JSON object, or an unknown policy.
std::optional<PodMemoryQos> decode_memory_annotation(
    const std::map<std::string, std::string>& annotations, Refusals& refusals);

}  // namespace koordlet::k8s
