#pragma once

#include <string>
#include <vector>

#include "policy/config.hpp"

/// The parts of resolve() and validate() that have files of their own.
namespace koordlet::policy {

/// Caches, disks, machine files and CPU identity; `out.off` is decided before.
void resolve_levers(const QosConfig& toml,
                    const NodeSlo* slo,
                    const EffectiveConfig& good,
                    EffectiveConfig& out);
void validate_levers(const QosConfig& config, std::vector<std::string>& faults);

}  // namespace koordlet::policy
