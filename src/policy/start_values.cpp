#include "policy/start_values.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/cpu_conversion.hpp"
#include "base/parse.hpp"
#include "policy/cpu_burst_rules.hpp"

namespace koordlet::policy {
namespace {

using std::chrono::microseconds;

constexpr microseconds kLeastQuota{1000};

/// Sums of batch resources over those that run together.
struct BatchSums {
  MilliCpu request{};
  std::optional<MilliCpu> cpu_limit = MilliCpu{};  ///< nullopt: one has none
  std::optional<Bytes> memory_limit = Bytes{};     ///< nullopt: one has none
  bool stated = false;
  bool plain_memory = false;  ///< one has a limit of plain memory

  void add(const Container& c) {
    const Resources &asked = c.requests, &most = c.limits;
    stated = stated || asked.batch_cpu || asked.batch_memory || most.batch_cpu || most.batch_memory;
    plain_memory = plain_memory || most.memory;
    if (asked.batch_cpu) request += *asked.batch_cpu;
    cpu_limit = plus(cpu_limit, most.batch_cpu);
    memory_limit = plus(memory_limit, most.batch_memory);
  }

 private:
  template <class T>
  static std::optional<T> plus(const std::optional<T>& sum, const std::optional<T>& part) {
    if (!sum || !part || part->v <= 0) return std::nullopt;
    return *sum + *part;
  }
};

std::optional<BatchValues> values_of(const BatchSums& sums, bool quota, const BatchContext& ctx) {
  if (!sums.stated) return std::nullopt;
  BatchValues out;
  out.shares = shares_of(sums.request);
  if (quota && sums.cpu_limit) out.quota = normalized(quota_of(*sums.cpu_limit), ctx.ratio);
  if (sums.memory_limit) out.memory = MemoryBound{*sums.memory_limit};
  out.keeps_memory = !sums.memory_limit && sums.plain_memory;
  return out;
}

CpuSet joined(const std::vector<CpuPool>& pools, const std::vector<int>* only) {
  CpuSet out;
  for (const auto& pool : pools) {
    const bool wanted =
        only == nullptr || std::find(only->begin(), only->end(), pool.numa) != only->end();
    if (wanted) out = out | pool.cpus;
  }
  return out;
}

bool is_normalized(const Pod& pod) {
  const bool shares_cpus = pod.qos == QosClass::kLs || pod.qos == QosClass::kNone;
  return shares_cpus && pod.allocated_cpus.empty();
}

/// A pool that is empty says nothing: an empty set is never written.
CpusetStart set_to(CpuSet cpus, std::string reason) {
  if (cpus.empty()) return {CpusetStart::Kind::kUntouched, {}, false, reason + ", which is empty"};
  return {CpusetStart::Kind::kSet, std::move(cpus), false, std::move(reason)};
}

}  // namespace

std::optional<NormalizationRatio> normalization_ratio(const Node& node) {
  const auto found = node.annotations.find("node.koordinator.sh/cpu-normalization-ratio");
  if (found == node.annotations.end()) return std::nullopt;
  const auto ratio = parse_real(found->second);
  if (!ratio || *ratio <= 0) return std::nullopt;
  return *ratio;
}

QuotaUs normalized(const QuotaUs& quota, const std::optional<NormalizationRatio>& ratio) {
  if (!quota.bound() || !ratio || *ratio <= 1) return quota;
  // A quotient that is whole but for the rounding of the ratio is not raised by 1.
  const double divided = std::ceil(static_cast<double>(quota.bound()->count()) / *ratio - 1e-6);
  return QuotaUs{std::max(kLeastQuota, microseconds{static_cast<std::int64_t>(divided)})};
}

std::optional<BatchValues> batch_values(const Pod& pod, const BatchContext& context) {
  if (pod.qos != QosClass::kBe) return std::nullopt;
  BatchSums sums;
  for (const auto& c : pod.containers) {
    if (!c.init) sums.add(c);
  }
  return values_of(sums, !context.root_limited, context);
}

std::optional<BatchValues> batch_values(const Pod& pod,
                                        const Container& container,
                                        const BatchContext& context) {
  if (pod.qos != QosClass::kBe) return std::nullopt;
  BatchSums sums;
  sums.add(container);
  return values_of(sums, !context.root_limited && context.version == CgroupVersion::kV2, context);
}

std::optional<QuotaUs> normalized_quota(const Pod& pod,
                                        const Container& container,
                                        const std::optional<NormalizationRatio>& ratio) {
  if (!is_normalized(pod) || !ratio) return std::nullopt;
  if (!container.limits.cpu || container.limits.cpu->v <= 0) return std::nullopt;
  return normalized(quota_of(*container.limits.cpu), ratio);
}

std::optional<QuotaUs> normalized_quota(const Pod& pod,
                                        const std::optional<NormalizationRatio>& ratio) {
  if (!is_normalized(pod) || !ratio) return std::nullopt;
  const auto kubelets = pod_quota_us(pod);
  if (!kubelets) return std::nullopt;
  return normalized(QuotaUs{microseconds{*kubelets}}, ratio);
}

CpusetStart cpuset_start(const Pod& pod, const CpuAllocation& allocation, const CpuPools* pools) {
  using Kind = CpusetStart::Kind;
  if (!allocation.cpus.empty()) {
    return {Kind::kSet, allocation.cpus, true, "CPUs that the scheduler allocated"};
  }
  if (pools == nullptr) return {Kind::kUntouched, {}, false, "no CPU topology is known"};
  if (!allocation.numa.empty()) {
    if (pod.qos != QosClass::kBe) {
      return set_to(joined(pools->shared, &allocation.numa), "shared CPUs of its NUMA nodes");
    }
    if (pools->be_manager) {
      return set_to(joined(pools->be, &allocation.numa), "BE CPUs of its NUMA nodes");
    }
  }
  if (pod.qos == QosClass::kSystem && !pools->system.empty()) {
    return set_to(pools->system, "CPUs of the system class");
  }
  if (pod.qos == QosClass::kLs) return set_to(joined(pools->shared, nullptr), "all shared CPUs");
  if (pod.kube_qos == KubeQos::kBestEffort) {
    return {Kind::kInherit, {}, false, "best effort: as its parent"};
  }
  if (pools->kubelet == KubeletCpuPolicy::kStatic) {
    return {Kind::kUntouched, {}, false, "kubelet's static policy owns it"};
  }
  return set_to(joined(pools->shared, nullptr), "all shared CPUs");
}

}  // namespace koordlet::policy
