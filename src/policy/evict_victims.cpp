#include "policy/evict_victims.hpp"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "base/parse.hpp"
#include "policy/be_view.hpp"
#include "policy/evict_filter.hpp"

namespace koordlet::policy {
namespace {

using R = EvictResource;

constexpr const char* kEvictionPriority = "koordinator.sh/eviction-priority";
constexpr const char* kSubPriority = "koordinator.sh/priority";

std::optional<std::int64_t> number_of(const std::map<std::string, std::string>& texts,
                                      const char* key) {
  const auto found = texts.find(key);
  if (found == texts.end()) return std::nullopt;
  const auto value = parse_i64(found->second);
  if (!value) return std::nullopt;  // an invalid one is as good as none
  return *value;
}

const PodUsage* young_use(const Pod& pod, const Snapshot& snap) {
  const auto use = snap.pods.find(pod.uid);
  const bool young = use != snap.pods.end() && snap.now - use->second.at <= kFreshPods;
  return young ? &use->second : nullptr;
}

/// The rule goes by use, and nobody knows this pod's.
bool is_unmeasured(const Pod& pod, const Snapshot& snap, const EvictAmounts& left) {
  const PodUsage* use = young_use(pod, snap);
  return (left[R::kMemoryUsed] > 0 && (use == nullptr || !use->memory)) ||
         (left[R::kCpuUsed] > 0 && (use == nullptr || !use->cpu));
}

std::int64_t worth(R resource, std::int64_t amount) {
  const std::int64_t least = resource == R::kMemoryUsed ? kMinVictim.v
                             : resource == R::kCpuUsed  ? kMinVictimCpu.v
                                                        : 1;
  return amount < least ? 0 : amount;
}

std::optional<std::int64_t> rank_of(const EvictCandidate& c,
                                    const Snapshot& snap,
                                    EvictPlugin plugin,
                                    const EvictAmounts& gives) {
  if (plugin != EvictPlugin::kBeCpu) {
    EvictAmounts sum;  // adds with a bound
    for (const R r : kAllEvictResources) {
      EvictAmounts one;
      one[R::kMemoryUsed] = gives[r];
      sum += one;
    }
    return sum[R::kMemoryUsed];
  }
  const PodUsage* use = young_use(*c.pod, snap);
  const auto request = c.frees[R::kBatchCpu];
  if (use == nullptr || !use->cpu || request <= 0) return std::nullopt;
  constexpr Wide kMost = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::min(Wide{use->cpu->v} * 1000 / request, kMost));
}

/// All that a rule may lack, one of each.
EvictAmounts lacks(EvictPlugin plugin) {
  EvictAmounts out;
  const auto add = [&out](std::initializer_list<R> all) {
    for (const R r : all) out[r] = 1;
  };
  switch (plugin) {
    case EvictPlugin::kBeMemory:
    case EvictPlugin::kMemory:
      add({R::kMemoryUsed});
      break;
    case EvictPlugin::kMemoryAllocatable:
      add({R::kBatchMemory, R::kMidMemory, R::kMemory});
      break;
    case EvictPlugin::kBeCpu:
      add({R::kBatchCpu});
      break;
    case EvictPlugin::kCpuAllocatable:
      add({R::kBatchCpu, R::kMidCpu, R::kCpu});
      break;
    case EvictPlugin::kCpu:
      add({R::kCpuUsed});
      break;
  }
  return out;
}

}  // namespace

EvictAmounts request_amounts(const Pod& pod) {
  EvictAmounts out;
  for (const auto& c : pod.containers) {
    if (c.init) continue;
    EvictAmounts one;
    const auto put = [&one](R r, const auto& amount) {
      if (amount) one[r] = std::max<std::int64_t>(amount->v, 0);
    };
    put(R::kBatchCpu, c.requests.batch_cpu);
    put(R::kMidCpu, c.requests.mid_cpu);
    put(R::kCpu, c.requests.cpu);
    put(R::kBatchMemory, c.requests.batch_memory);
    put(R::kMidMemory, c.requests.mid_memory);
    put(R::kMemory, c.requests.memory);
    out += one;
  }
  return out;
}

EvictAmounts pod_amounts(const Pod& pod, const Snapshot& snap) {
  EvictAmounts out = request_amounts(pod);
  const auto use = snap.pods.find(pod.uid);
  if (use == snap.pods.end()) return out;
  if (use->second.memory) out[R::kMemoryUsed] = std::max<std::int64_t>(use->second.memory->v, 0);
  if (use->second.cpu) out[R::kCpuUsed] = std::max<std::int64_t>(use->second.cpu->v, 0);
  return out;
}

EvictAmounts contribution(const Pod& pod, const Snapshot& snap, const EvictAmounts& left) {
  EvictAmounts out;
  const EvictAmounts all = pod_amounts(pod, snap);
  const bool young = young_use(pod, snap) != nullptr;
  for (const R r : kAllEvictResources) {
    if (left[r] <= 0) continue;
    if (!young && (r == R::kMemoryUsed || r == R::kCpuUsed)) continue;
    out[r] = worth(r, all[r]);
  }
  return out;
}

EvictCandidate make_candidate(const Pod& pod) {
  EvictCandidate out;
  out.pod = &pod;
  out.owner = owner_text(pod);
  const auto eviction = number_of(pod.annotations, kEvictionPriority).value_or(0);
  using Int = std::numeric_limits<std::int32_t>;
  if (eviction >= Int::min() && eviction <= Int::max()) {
    out.eviction_priority = static_cast<int>(eviction);
  }
  out.priority = priority_value(pod);
  out.sub_priority = number_of(pod.labels, kSubPriority).value_or(out.priority);
  return out;
}

bool goes_before(const EvictCandidate& a, const EvictCandidate& b) {
  const auto key = [](const EvictCandidate& c) {
    // Negated, so that more sorts first; a rank is never negative.
    return std::make_tuple(
        c.eviction_priority, c.priority, c.sub_priority, !c.rank.has_value(), -c.rank.value_or(0));
  };
  const auto ka = key(a), kb = key(b);
  if (ka != kb) return ka < kb;
  return std::tie(a.pod->ns, a.pod->name, a.pod->uid) <
         std::tie(b.pod->ns, b.pod->name, b.pod->uid);
}

Victims find_victims(const Snapshot& snap,
                     const EffectiveConfig& config,
                     const EvictionLedger& ledger,
                     EvictPlugin plugin,
                     const EvictAmounts& left) {
  Victims out;
  for (const auto& pod : snap.state->pods) {
    if (!is_active(*pod) || pod->terminating) continue;
    if (!exempt(*pod, config, plugin).empty()) continue;
    if (is_unmeasured(*pod, snap, left)) {
      if (pod->phase == PodPhase::kRunning) ++out.stale;
      continue;
    }
    const auto gives = contribution(*pod, snap, left);
    if (gives.none()) continue;
    if (!pod_bar(ledger, *pod, snap.now).empty()) {
      ++out.held;
      continue;
    }
    auto candidate = make_candidate(*pod);
    candidate.frees = pod_amounts(*pod, snap);
    candidate.rank = rank_of(candidate, snap, plugin, gives);
    out.sum += gives;
    out.usable.push_back(std::move(candidate));
  }
  std::sort(out.usable.begin(), out.usable.end(), goes_before);
  return out;
}

std::string why_no_victim(const Pod& pod,
                          const Snapshot& snap,
                          const EffectiveConfig& config,
                          const EvictionLedger& ledger,
                          EvictPlugin plugin) {
  if (!is_active(pod)) return "it has ended";
  if (pod.terminating) return "it is on its way out";
  if (const auto why = exempt(pod, config, plugin); !why.empty()) return std::string{why};
  const auto left = lacks(plugin);
  if (is_unmeasured(pod, snap, left)) return "its use was not measured within 10 s";
  if (contribution(pod, snap, left).none()) return "it holds nothing of what this rule frees";
  return pod_bar(ledger, pod, snap.now);
}

}  // namespace koordlet::policy
