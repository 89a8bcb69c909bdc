#include <array>
#include <limits>

#include <fmt/format.h>

#include "k8s/node_slo_sections.hpp"

namespace koordlet::k8s {
namespace {

constexpr std::string_view kAnnotation = "koordinator.sh/memoryQOS";

struct NumberField {
  std::string_view key;
  std::optional<int> MemoryQosStrategy::*value;
  int low, high;
};
constexpr std::array kNumbers{
    NumberField{"minLimitPercent", &MemoryQosStrategy::min_percent, 0, 100},
    NumberField{"lowLimitPercent", &MemoryQosStrategy::low_percent, 0, 100},
    NumberField{"throttlingPercent", &MemoryQosStrategy::throttling_percent, 0, 100},
    NumberField{"wmarkRatio", &MemoryQosStrategy::wmark_ratio, 0, 100},
    NumberField{"wmarkScalePermill", &MemoryQosStrategy::wmark_scale_permill, 1, 1000},
    NumberField{"wmarkMinAdj", &MemoryQosStrategy::wmark_min_adj, -25, 50},
    NumberField{"priorityEnable", &MemoryQosStrategy::priority_enable, 0, 1},
    NumberField{"priority", &MemoryQosStrategy::priority, 0, 12},
    NumberField{"oomKillGroup", &MemoryQosStrategy::oom_kill_group, 0, 1},
    NumberField{"pageCacheLimitPercent", &MemoryQosStrategy::page_cache_limit_percent, 0, 100},
};

MemoryQosStrategy decode_fields(const Fields& fields, const MemoryQosStrategy& old) {
  MemoryQosStrategy out;
  for (const auto& f : kNumbers) {
    out.*f.value = fields.int_or_last(f.key, f.low, f.high, old.*f.value);
  }
  out.page_cache_enable = fields.boolean("pageCacheEnable").or_last(old.page_cache_enable);
  out.page_cache_reclaim_sync =
      fields.boolean("pageCacheReclaimSync").or_last(old.page_cache_reclaim_sync);
  const auto size =
      fields.integer("pageCacheLimitSize", 0, std::numeric_limits<std::int64_t>::max());
  if (size.refused) {
    out.page_cache_limit_size = old.page_cache_limit_size;
  } else if (size.value) {
    out.page_cache_limit_size = Bytes{*size.value};
  }
  return out;
}

std::optional<MemoryQosStrategy> decode_class(const Fields& classes,
                                              std::string_view key,
                                              const std::optional<MemoryQosStrategy>& last) {
  const auto of_class = classes.object(key);
  if (of_class.refused) return last;
  if (!of_class.value) return std::nullopt;
  const auto section = of_class.value->object("memoryQOS");
  if (section.refused) return last;
  if (!section.value) return std::nullopt;
  const MemoryQosStrategy old = last.value_or(MemoryQosStrategy{});
  MemoryQosStrategy out = decode_fields(*section.value, old);
  out.enable = section.value->boolean("enable").or_last(old.enable);
  return out;
}

std::optional<PodMemoryPolicy> decode_policy(const Fields& fields) {
  const auto text = fields.text("policy");
  if (text.refused) return std::nullopt;
  const auto name = text.value.value_or("");
  if (name.empty() || name == "default") return PodMemoryPolicy::kDefault;
  if (name == "auto") return PodMemoryPolicy::kAuto;
  if (name == "none") return PodMemoryPolicy::kNone;
  fields.refuse("policy", json::value(name), "default, auto or none");
  return std::nullopt;
}

}  // namespace

MemoryQosClasses decode_memory_qos(const Fields& spec, const MemoryQosClasses& last) {
  const auto classes = spec.object("resourceQOSStrategy");
  if (classes.refused) return last;
  MemoryQosClasses out;
  if (!classes.value) return out;
  out.lsr = decode_class(*classes.value, "lsrClass", last.lsr);
  out.ls = decode_class(*classes.value, "lsClass", last.ls);
  out.be = decode_class(*classes.value, "beClass", last.be);
  out.system = decode_class(*classes.value, "systemClass", last.system);
  out.root = decode_class(*classes.value, "cgroupRoot", last.root);
  return out;
}

std::optional<PodMemoryQos> decode_memory_annotation(
    const std::map<std::string, std::string>& annotations, Refusals& refusals) {
  const auto found = annotations.find(std::string{kAnnotation});
  if (found == annotations.end()) return std::nullopt;
  const auto object = parse_annotation(kAnnotation, found->second, refusals);
  if (!object) return std::nullopt;
  const Fields fields{
      *object, fmt::format("metadata.annotations[{}]", kAnnotation), refusals, KeyCase::kAny};
  const auto policy = decode_policy(fields);
  if (!policy) return std::nullopt;
  return PodMemoryQos{*policy, decode_fields(fields, {})};
}

}  // namespace koordlet::k8s
