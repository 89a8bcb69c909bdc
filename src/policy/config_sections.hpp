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

}  // namespace koordlet::policy
