#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "k8s/fields.hpp"
#include "model/slo_blkio.hpp"
#include "model/slo_burst.hpp"
#include "model/slo_cpu.hpp"
#include "model/slo_evict.hpp"
#include "model/slo_memory.hpp"
#include "model/slo_resctrl.hpp"
#include "model/slo_system.hpp"

/// The sections of a NodeSLO, one decoder each, and the pod annotations that overlay them. A
/// refused field keeps its value in `last`, an absent one is absent; in an annotation, which has no
/// last value, a refused field counts as absent.
/// `spec` is the spec of the object, `strategy` its resourceQOSStrategy.
namespace koordlet::k8s {

/// The eviction fields of spec.resourceUsedThresholdWithBE (`section`).
EvictThresholds decode_evict_thresholds(const Fields& section, const EvictThresholds& last);

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

ResctrlStrategy decode_resctrl(const Fields& strategy, const ResctrlStrategy& last);
CpuQosStrategy decode_cpu_qos(const Fields& strategy, const CpuQosStrategy& last);
BlkIoStrategy decode_blkio(const Fields& strategy, const BlkIoStrategy& last);
SystemStrategy decode_system(const Fields& spec, const SystemStrategy& last);

/// The list `blocks` of blkioQOS, of NodeSLO and of the pod annotation alike. A block that is
/// refused is the one of the same name in `last`, or left out.
std::vector<IoBlock> decode_io_blocks(const Fields& fields, const std::vector<IoBlock>& last);

}  // namespace koordlet::k8s
