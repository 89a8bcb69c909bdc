#pragma once

#include <cstdint>
#include <optional>

#include "base/units.hpp"
#include "model/pod.hpp"
#include "policy/config_memory.hpp"

/// The arithmetic of memory QoS, apart from how it becomes proposals (reference 7).
namespace koordlet::policy {

/// What a pod or container asked for, in the resource of its class: batch-memory for the label BE,
/// else memory.
struct MemoryAsk {
  Bytes request;               ///< nothing asked: 0
  std::optional<Bytes> limit;  ///< nullopt: none
  friend bool operator==(const MemoryAsk&, const MemoryAsk&) = default;
};
MemoryAsk memory_ask(const Container& container, bool batch);
/// Sum of the containers, at least the largest init container, and the overhead. A limit only when
/// every container has one.
MemoryAsk memory_ask(const Pod& pod);

/// Protection of one cgroup. nullopt: its file is not touched.
struct MemoryProtection {
  std::optional<Bytes> min, low;
  friend bool operator==(const MemoryProtection&, const MemoryProtection&) = default;
};
/// request x percent / 100; a low between 0 and min becomes min.
MemoryProtection memory_protection(Bytes request, const MemoryQosStrategy& rule);
/// min x permille / 1000 in whole pages; what min loses is protected as low.
MemoryProtection bounded(const MemoryProtection& wanted, std::int64_t share_permille);
/// Sums of fields that any of the parts has.
void add(MemoryProtection& sum, const MemoryProtection& part);

/// memory.high: floor((request + (limit - request) x percent / 100) / page) pages, at least `min`.
/// Without a limit the node's allocatable memory stands for it. 0 percent: unlimited. nullopt: not
/// to be touched (no percent, or neither limit nor allocatable is known).
std::optional<MemoryBound> memory_high(const MemoryAsk& ask,
                                       const std::optional<Bytes>& allocatable,
                                       const std::optional<int>& percent,
                                       Bytes min);

/// Permille of its wanted memory.min that everybody gets, so that all together stay within
/// `percent` of `total`.
int bound_permille(Bytes wanted, Bytes total, int percent);

/// What the files of one container hold. nullopt: not touched.
struct ContainerMemory {
  MemoryProtection protection;
  std::optional<MemoryBound> high;
  friend bool operator==(const ContainerMemory&, const ContainerMemory&) = default;
};
ContainerMemory container_memory(const MemoryAsk& ask,
                                 const MemoryQosStrategy& rule,
                                 const std::optional<Bytes>& allocatable,
                                 int min_permille);

/// Page-cache limit of vendor kernels. nullopt: not to be touched.
struct PageCacheLimit {
  std::optional<bool> enable;
  std::optional<Bytes> size;
  std::optional<bool> sync;
  friend bool operator==(const PageCacheLimit&, const PageCacheLimit&) = default;
};
PageCacheLimit page_cache_limit(const MemoryQosStrategy& rule, const std::optional<Bytes>& limit);

/// Which class of the configuration a pod belongs to.
const MemoryClass& memory_class(const Pod& pod, const MemoryQosConfig& config);
/// The class's values with the pod's annotation over them, within the class: no annotation lifts a
/// throttle, protects BE memory beyond its class, or ranks a pod above it. nullopt: nothing is done
/// for this pod.
std::optional<MemoryQosStrategy> pod_memory_rule(const Pod& pod, const MemoryQosConfig& config);

/// Page cache of a cgroup that reclaim may not take because of memory.min: what of min its other
/// memory does not fill, as far as there is cache.
Bytes protected_cache(Bytes without_cache, Bytes with_cache, Bytes min);

}  // namespace koordlet::policy
