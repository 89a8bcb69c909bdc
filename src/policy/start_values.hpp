#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/cgroup.hpp"
#include "base/cpu_set.hpp"
#include "base/units.hpp"
#include "model/cpu_pools.hpp"
#include "model/node.hpp"
#include "model/pod.hpp"

/// What a pod's or container's cgroup starts with, before any pressure: batch resources, CPU
/// normalization and CPU allocation (hooks reference 6, 7, 8). The runtime hooks and the tick call
/// the same functions.
namespace koordlet::policy {

using QuotaUs = Limit<std::chrono::microseconds>;  ///< CPU time in each 100 ms

/// CPU time ratio of a fast CPU model against the one that requests are written for. Not above
/// 1: nothing is divided.
using NormalizationRatio = double;

/// Annotation node.koordinator.sh/cpu-normalization-ratio. nullopt: absent, no number, or not
/// above 0: switched off.
std::optional<NormalizationRatio> normalization_ratio(const Node& node);

/// ceil(quota / ratio), at least what the kernel takes (1000 us).
QuotaUs normalized(const QuotaUs& quota, const std::optional<NormalizationRatio>& ratio);

/// Values of a cgroup of label BE.
struct BatchValues {
  std::int64_t shares = 2;
  QuotaUs quota = QuotaUs::unlimited();
  MemoryBound memory = MemoryBound::unlimited();
  /// A limit in plain memory without a batch twin is the kubelet's: the file is left alone.
  bool keeps_memory = false;
  friend bool operator==(const BatchValues&, const BatchValues&) = default;
};
struct BatchContext {
  std::optional<NormalizationRatio> ratio{};
  /// The parent is limited instead (suppress policy cfsQuota): no quota here.
  bool root_limited = false;
  CgroupVersion version = CgroupVersion::kV2;
};
/// nullopt: not of label BE, or nothing of it is stated in batch resources.
std::optional<BatchValues> batch_values(const Pod& pod, const BatchContext& context);
/// On cgroup v1 a container carries no quota: one above its pod's later quota would be EINVAL, and
/// keep new containers from starting.
std::optional<BatchValues> batch_values(const Pod& pod,
                                        const Container& container,
                                        const BatchContext& context);

/// Quota of a container of LS or without a label whose CPUs are shared: by the limit of its spec,
/// never by a value that may be divided already. nullopt: untouched.
std::optional<QuotaUs> normalized_quota(const Pod& pod,
                                        const Container& container,
                                        const std::optional<NormalizationRatio>& ratio);
/// Quota of its pod: what kubelet gives the pod, divided. nullopt: untouched, or unlimited.
std::optional<QuotaUs> normalized_quota(const Pod& pod,
                                        const std::optional<NormalizationRatio>& ratio);

using CpuPools = NodeCpuPools;
/// What the scheduler allocated to a pod (annotation scheduling.koordinator.sh/resource-status).
struct CpuAllocation {
  CpuSet cpus;            ///< exclusive CPUs; empty: none
  std::vector<int> numa;  ///< NUMA nodes it got CPU of
};

struct CpusetStart {
  enum class Kind {
    kUntouched,  ///< kubelet's business, or nothing is known
    kSet,
    kInherit,  ///< what kubelet set is taken away: in a create request the empty set, on a running
               ///< cgroup its parent's CPUs
  };
  Kind kind = Kind::kUntouched;
  CpuSet cpus{};
  bool lift_quota = false;  ///< exclusive CPUs: a quota would only throttle
  std::string reason{};     ///< which rule
  friend bool operator==(const CpusetStart&, const CpusetStart&) = default;
};
/// First match wins, in the order of the reference. `pools` nullptr: no topology yet.
CpusetStart cpuset_start(const Pod& pod, const CpuAllocation& allocation, const CpuPools* pools);

}  // namespace koordlet::policy
