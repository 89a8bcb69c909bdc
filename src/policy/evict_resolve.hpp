#pragma once

#include "policy/config.hpp"

namespace koordlet::policy {

/// Takes what NodeSLO says of the eviction rules; `good` supplies the value of a refused field. A
/// rule is switched on when the section says enable and all fields that it needs are there.
void merge_evict(const ThresholdStrategy& slo, const EffectiveConfig& good, EffectiveConfig& out);

/// Each number may be good and a pair still senseless, also when one comes from TOML: such a rule
/// is switched off, with a fault.
void check_evict(EffectiveConfig& out);

}  // namespace koordlet::policy
