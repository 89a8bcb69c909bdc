#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/snapshot.hpp"
#include "policy/config.hpp"
#include "policy/memory_evict_ledger.hpp"

/// Who may be evicted, and in which order.
namespace koordlet::policy {

/// A pod with less cannot help, whatever its priority.
inline constexpr Bytes kMinVictim{1 << 20};

struct EvictCandidate {
  const Pod* pod = nullptr;  ///< lives as long as the snapshot's state
  std::string owner;
  int eviction_priority = 0;      ///< annotation koordinator.sh/eviction-priority
  int priority = 0;               ///< priority_value()
  std::int64_t sub_priority = 0;  ///< label koordinator.sh/priority, else the priority
  std::optional<Bytes> memory;    ///< nullopt: not measured
};

/// The order of eviction: eviction priority, priority, sub-priority (each: lower first), then
/// memory (known before unknown, larger first), then name. A strict weak order.
bool goes_before(const EvictCandidate& a, const EvictCandidate& b);

/// Reads the sort keys of a pod; the memory is left out.
EvictCandidate make_candidate(const Pod& pod);

/// Annotation koordinator.sh/eviction-policy, a JSON array of feature names: absent allows all,
/// what is not such an array allows none.
bool policy_allows(const Pod& pod, std::string_view feature);
/// The names in it; nullopt when it is no JSON array of strings.
std::optional<std::vector<std::string>> parse_names(std::string_view json);

/// Why this pod is never evicted for being BE, whatever it uses; "" when it may be.
std::string_view exempt(const Pod& pod, const EffectiveConfig& config, std::string_view feature);

struct Victims {
  std::vector<EvictCandidate> usable;  ///< in the order of eviction, memory known and worth it
  Bytes sum;                           ///< of the usable ones
  int stale = 0;                       ///< running, but without a young sample
  int held = 0;                        ///< would do, but the ledger says not now
};
/// `fresh`: oldest sample of a pod's memory that is believed.
Victims find_victims(const Snapshot& snap,
                     const EffectiveConfig& config,
                     const EvictionLedger& ledger,
                     std::string_view feature,
                     std::chrono::seconds fresh);

}  // namespace koordlet::policy
