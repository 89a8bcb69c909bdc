#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "k8s/fields.hpp"
#include "model/slo_blkio.hpp"
#include "model/slo_cpu.hpp"
#include "model/slo_resctrl.hpp"
#include "model/slo_system.hpp"

/// Sections of NodeSLO, one decoder each. A refused field keeps its value in `last`, an absent one
/// is absent. `strategy` is spec.resourceQOSStrategy.
namespace koordlet::k8s {

std::optional<int> int_or_last(const Fields& fields,
                               std::string_view key,
                               std::int64_t low,
                               std::int64_t high,
                               const std::optional<int>& last);

ResctrlStrategy decode_resctrl(const Fields& strategy, const ResctrlStrategy& last);
CpuQosStrategy decode_cpu_qos(const Fields& strategy, const CpuQosStrategy& last);
BlkIoStrategy decode_blkio(const Fields& strategy, const BlkIoStrategy& last);
SystemStrategy decode_system(const Fields& spec, const SystemStrategy& last);

/// The list `blocks` of blkioQOS, of NodeSLO and of the pod annotation alike. A block that is
/// refused is the one of the same name in `last`, or left out.
std::vector<IoBlock> decode_io_blocks(const Fields& fields, const std::vector<IoBlock>& last);

}  // namespace koordlet::k8s
