#pragma once

#include "k8s/fields.hpp"
#include "model/node_slo_evict.hpp"

namespace koordlet::k8s {

/// The eviction fields of spec.resourceUsedThresholdWithBE. A refused field keeps its value of
/// `last`.
EvictThresholds decode_evict_thresholds(const Fields& section, const EvictThresholds& last);

}  // namespace koordlet::k8s
