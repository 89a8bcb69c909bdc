#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policy/interference.hpp"

namespace koordlet::policy {

/// What CPI and cache misses of a pod's containers say; the container that is hurt most counts.
struct MicroScore {
  std::optional<double> worst_z;  ///< of the CPI; nullopt: no container can tell
  double score = 0;               ///< M before the confirmation, 0..100
  bool llc = false;               ///< cache misses took part
  bool young = false;             ///< some container only lacks a mature baseline
};
MicroScore micro_score(const std::vector<MicroSample>& samples,
                       const BaselineTable& baselines,
                       const std::string& owner_uid,
                       const std::string& cpu_model,
                       const InterferenceConfig& config);

/// A positive number, of work enough to say something.
bool is_usable(const MicroSample& sample, const InterferenceConfig& config);
/// A ratio within 0..1; nullopt: no cache counts, or damaged ones.
std::optional<double> usable_miss_ratio(const MicroSample& sample);

}  // namespace koordlet::policy
