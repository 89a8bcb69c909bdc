#include <array>
#include <utility>

#include <fmt/format.h>

#include "k8s/node_slo_sections.hpp"

namespace koordlet::k8s {
namespace {

constexpr std::string_view kAnnotation = "koordinator.sh/cpuBurst";
constexpr int kDay = 86'400;

std::optional<BurstPolicy> policy(const Fields& fields, const std::optional<BurstPolicy>& last) {
  constexpr std::array<std::pair<std::string_view, BurstPolicy>, 4> kNames{{
      {"none", BurstPolicy::kNone},
      {"cpuBurstOnly", BurstPolicy::kCpuBurstOnly},
      {"cfsQuotaBurstOnly", BurstPolicy::kCfsQuotaBurstOnly},
      {"auto", BurstPolicy::kAuto},
  }};
  const auto text = fields.text("policy");
  if (text.refused) return last;
  if (!text.value || text.value->empty()) return std::nullopt;
  for (const auto& [name, value] : kNames) {
    if (*text.value == name) return value;
  }
  fields.refuse(
      "policy", json::value(*text.value), "none, cpuBurstOnly, cfsQuotaBurstOnly or auto");
  return last;
}

/// 0 seconds of budget would forbid for ever what the policy allows: that is said with the policy.
std::optional<int> period(const Fields& fields, const std::optional<int>& last) {
  constexpr std::string_view kKey = "cfsQuotaBurstPeriodSeconds";
  const auto* v = fields.find(kKey);
  if (v == nullptr) return std::nullopt;
  if (v->is_int64()) {
    const auto said = v->get_int64();
    if (said == -1 || (said >= 1 && said <= kDay)) return static_cast<int>(said);
  }
  fields.refuse(kKey, *v, fmt::format("-1 (no budget) or 1..{}", kDay));
  return last;
}

CpuBurstStrategy decode_fields(const Fields& fields, const CpuBurstStrategy& old) {
  CpuBurstStrategy out;
  out.policy = policy(fields, old.policy);
  out.burst_percent = fields.int_or_last("cpuBurstPercent", 0, 10'000, old.burst_percent);
  out.quota_percent = fields.int_or_last("cfsQuotaBurstPercent", 100, 10'000, old.quota_percent);
  out.quota_period_seconds = period(fields, old.quota_period_seconds);
  return out;
}

}  // namespace

std::optional<CpuBurstStrategy> decode_burst(const Fields& spec,
                                             const std::optional<CpuBurstStrategy>& last) {
  const auto section = spec.object("cpuBurstStrategy");
  if (section.refused) return last;
  if (!section.value) return std::nullopt;
  const CpuBurstStrategy old = last.value_or(CpuBurstStrategy{});
  CpuBurstStrategy out = decode_fields(*section.value, old);
  out.pool_threshold_percent =
      section.value->int_or_last("sharePoolThresholdPercent", 0, 100, old.pool_threshold_percent);
  return out;
}

std::optional<CpuBurstStrategy> decode_burst_annotation(
    const std::map<std::string, std::string>& annotations, Refusals& refusals) {
  const auto found = annotations.find(std::string{kAnnotation});
  if (found == annotations.end()) return std::nullopt;
  const auto object = parse_annotation(kAnnotation, found->second, refusals);
  if (!object) return std::nullopt;
  return decode_fields(
      Fields{
          *object, fmt::format("metadata.annotations[{}]", kAnnotation), refusals, KeyCase::kAny},
      {});
}

}  // namespace koordlet::k8s
