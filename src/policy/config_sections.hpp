#pragma once

#include <string>
#include <vector>

#include "policy/config.hpp"

/// Parts of resolve() and validate() that have a file of their own. `out` comes with what the
/// earlier parts decided, `good` is the last good configuration.
namespace koordlet::policy {

void resolve_burst(const QosConfig& toml,
                   const NodeSlo* slo,
                   const EffectiveConfig& good,
                   EffectiveConfig& out);
void validate_burst(const BurstConfig& config, std::vector<std::string>& faults);

/// memory_qos and memory_soften.
void resolve_memory(const QosConfig& toml, const NodeSlo* slo, EffectiveConfig& out);
void validate_memory(const QosConfig& config, std::vector<std::string>& faults);

/// Caches, disks, machine files and CPU identity; `out.off` is decided before.
void resolve_levers(const QosConfig& toml,
                    const NodeSlo* slo,
                    const EffectiveConfig& good,
                    EffectiveConfig& out);
void validate_levers(const QosConfig& config, std::vector<std::string>& faults);

/// Takes what NodeSLO says of the eviction rules; `good` supplies the value of a refused field. A
/// rule is switched on when the section says enable and all fields that it needs are there.
void merge_evict(const ThresholdStrategy& slo, const EffectiveConfig& good, EffectiveConfig& out);

/// Each number may be good and a pair still senseless, also when one comes from TOML: such a rule
/// is switched off, with a fault.
void check_evict(EffectiveConfig& out);

}  // namespace koordlet::policy
