#include "k8s/node_slo_sections.hpp"

namespace koordlet::k8s {
namespace {

constexpr std::string_view kPolicy = "cpuEvictPolicy";

std::optional<CpuEvictPolicy> policy(const Fields& section,
                                     const std::optional<CpuEvictPolicy>& last) {
  const auto text = section.text(kPolicy);
  if (text.refused) return last;
  if (!text.value || text.value->empty()) return std::nullopt;
  if (*text.value == "evictByRealLimit") return CpuEvictPolicy::kRealLimit;
  if (*text.value == "evictByAllocatable") return CpuEvictPolicy::kAllocatable;
  section.refuse(kPolicy, json::value(*text.value), "evictByRealLimit or evictByAllocatable");
  return last;
}

}  // namespace

EvictThresholds decode_evict_thresholds(const Fields& section, const EvictThresholds& last) {
  EvictThresholds out;
  for (const auto& field : kEvictFields) {
    out.*field.value = section.int_or_last(field.name, field.low, field.high, last.*field.value);
  }
  out.cpu_policy = policy(section, last.cpu_policy);
  return out;
}

}  // namespace koordlet::k8s
