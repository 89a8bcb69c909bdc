#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/pod.hpp"
#include "policy/config.hpp"
#include "policy/evict_rules.hpp"

/// Who is never evicted, whatever the node lacks.
namespace koordlet::policy {

/// Annotation koordinator.sh/eviction-policy, a JSON array of feature names: absent allows all,
/// what is not such an array allows none.
bool policy_allows(const Pod& pod, std::string_view feature);
/// The names in it; nullopt when it is no JSON array of strings.
std::optional<std::vector<std::string>> parse_names(std::string_view json);

/// Why this pod is never a victim of this rule, whatever it uses; "" when it may be. The BE rules
/// take BE pods; the others pods with the label koordinator.sh/eviction-enabled up to their
/// priority threshold.
std::string_view exempt(const Pod& pod, const EffectiveConfig& config, EvictPlugin plugin);

}  // namespace koordlet::policy
