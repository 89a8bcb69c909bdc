#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "model/eviction.hpp"
#include "model/snapshot.hpp"
#include "policy/config.hpp"
#include "policy/evict_ledger.hpp"
#include "policy/evict_task.hpp"

/// Who may be evicted, and in which order.
namespace koordlet::policy {

/// A pod with less cannot help, whatever its priority.
inline constexpr Bytes kMinVictim{1 << 20};
inline constexpr MilliCpu kMinVictimCpu{10};
/// Oldest sample of a pod's use that a choice is made on.
inline constexpr std::chrono::seconds kFreshPods{10};

struct EvictCandidate {
  const Pod* pod = nullptr;  ///< lives as long as the snapshot's state
  std::string owner;
  int eviction_priority = 0;      ///< annotation koordinator.sh/eviction-priority
  int priority = 0;               ///< priority_value()
  std::int64_t sub_priority = 0;  ///< label koordinator.sh/priority, else the priority
  /// What makes it go before others of its priority, more first: use, request, or use per request
  /// (1/1000). nullopt: not measured.
  std::optional<std::int64_t> rank;
  EvictAmounts frees;  ///< all that is known
};

/// The order of eviction: eviction priority, priority, sub-priority (each: lower first), then rank
/// (known before unknown, larger first), then name. A strict weak order.
bool goes_before(const EvictCandidate& a, const EvictCandidate& b);

/// Reads the sort keys of a pod; rank and amounts are left out.
EvictCandidate make_candidate(const Pod& pod);

/// What the pod's containers and sidecars ask for, by resource.
EvictAmounts request_amounts(const Pod& pod);
/// That, and what it uses as last measured; unknown use is left out (0).
EvictAmounts pod_amounts(const Pod& pod, const Snapshot& snap);

/// What this pod's end gives of what `left` has; 0: nothing, or too little to be worth it. Its use
/// counts only when it was measured within kFreshPods.
EvictAmounts contribution(const Pod& pod, const Snapshot& snap, const EvictAmounts& left);

struct Victims {
  std::vector<EvictCandidate> usable;  ///< in the order of eviction, each gives something
  EvictAmounts sum;                    ///< of what is needed, over the usable ones
  int stale = 0;                       ///< running, but without a young sample that is needed
  int held = 0;                        ///< would do, but the ledger says not now
};
/// Whoever gives some of `left`, which is what the task needs less what is on its way out.
Victims find_victims(const Snapshot& snap,
                     const EffectiveConfig& config,
                     const EvictionLedger& ledger,
                     EvictPlugin plugin,
                     const EvictAmounts& left);

/// Why this pod would not be named by this rule if it lacked something now; "" when it is a
/// candidate.
std::string why_no_victim(const Pod& pod,
                          const Snapshot& snap,
                          const EffectiveConfig& config,
                          const EvictionLedger& ledger,
                          EvictPlugin plugin);

}  // namespace koordlet::policy
