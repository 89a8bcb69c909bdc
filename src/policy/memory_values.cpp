#include "policy/memory_values.hpp"

#include <algorithm>
#include <limits>

#include "policy/be_view.hpp"

namespace koordlet::policy {
namespace {

constexpr std::int64_t kPage = 4096;

Bytes bytes(Wide v) {
  return {
      static_cast<std::int64_t>(std::clamp<Wide>(v, 0, std::numeric_limits<std::int64_t>::max()))};
}

Bytes whole_pages(Bytes v) { return {v.v / kPage * kPage}; }
Bytes plus(Bytes a, Bytes b) { return bytes(Wide{a.v} + b.v); }
Bytes percent_of(Bytes a, int percent) { return bytes(Wide{a.v} * percent / 100); }

void add(std::optional<Bytes>& sum, const std::optional<Bytes>& part) {
  if (part) sum = plus(sum.value_or(Bytes{}), *part);
}

MemoryQosStrategy built_in(const Pod& pod) {
  switch (qos_with_default(pod)) {
    case QosClass::kLse:
    case QosClass::kLsr:
      return built_in_lsr();
    case QosClass::kLs:
      return built_in_ls();
    case QosClass::kBe:
      return built_in_be();
    case QosClass::kNone:
    case QosClass::kSystem:
      break;
  }
  return {};
}

template <class T>
void overlay(std::optional<T>& field, const std::optional<T>& own) {
  if (own) field = own;
}

void overlay(MemoryQosStrategy& rule, const MemoryQosStrategy& own) {
  overlay(rule.min_percent, own.min_percent);
  overlay(rule.low_percent, own.low_percent);
  overlay(rule.throttling_percent, own.throttling_percent);
  overlay(rule.wmark_ratio, own.wmark_ratio);
  overlay(rule.wmark_scale_permill, own.wmark_scale_permill);
  overlay(rule.wmark_min_adj, own.wmark_min_adj);
  overlay(rule.priority_enable, own.priority_enable);
  overlay(rule.priority, own.priority);
  overlay(rule.oom_kill_group, own.oom_kill_group);
  overlay(rule.page_cache_enable, own.page_cache_enable);
  overlay(rule.page_cache_limit_percent, own.page_cache_limit_percent);
  overlay(rule.page_cache_limit_size, own.page_cache_limit_size);
  overlay(rule.page_cache_reclaim_sync, own.page_cache_reclaim_sync);
}

/// `most`: what the class grants; a pod asks for no more than that.
void at_most(std::optional<int>& field, const std::optional<int>& most) {
  if (field) field = std::min(*field, most.value_or(0));
}

/// What a tenant may not give itself at the cost of others.
void keep_within(MemoryQosStrategy& rule, const MemoryQosStrategy& of_class, bool be) {
  const int throttle = of_class.throttling_percent.value_or(0);
  if (throttle > 0) {
    const int own = rule.throttling_percent.value_or(0);
    rule.throttling_percent = own > 0 ? std::min(own, throttle) : throttle;
  }
  if (be) {
    at_most(rule.min_percent, of_class.min_percent);
    at_most(rule.low_percent, of_class.low_percent);
  }
  at_most(rule.priority, of_class.priority);
  at_most(rule.priority_enable, of_class.priority_enable);
  if (rule.wmark_min_adj) {
    rule.wmark_min_adj = std::max(*rule.wmark_min_adj, of_class.wmark_min_adj.value_or(0));
  }
}

}  // namespace

MemoryAsk memory_ask(const Container& container, bool batch) {
  const auto amount = [batch](const Resources& r) { return batch ? r.batch_memory : r.memory; };
  MemoryAsk out;
  out.request = amount(container.requests).value_or(Bytes{});
  out.limit = amount(container.limits);
  if (out.limit && out.limit->v <= 0) out.limit.reset();
  return out;
}

MemoryAsk memory_ask(const Pod& pod) {
  const bool batch = pod.qos == QosClass::kBe;
  MemoryAsk sum, init;
  bool limited = true, any = false;
  Bytes limit, init_limit;
  for (const auto& c : pod.containers) {
    const MemoryAsk ask = memory_ask(c, batch);
    if (c.init) {
      init.request = std::max(init.request, ask.request);
      init_limit = std::max(init_limit, ask.limit.value_or(Bytes{}));
      continue;
    }
    any = true;
    sum.request = plus(sum.request, ask.request);
    limited = limited && ask.limit;
    limit = plus(limit, ask.limit.value_or(Bytes{}));
  }
  const Bytes overhead =
      (batch ? pod.overhead.batch_memory : pod.overhead.memory).value_or(Bytes{});
  sum.request = plus(std::max(sum.request, init.request), overhead);
  if (any && limited) sum.limit = plus(std::max(limit, init_limit), overhead);
  return sum;
}

MemoryProtection memory_protection(Bytes request, const MemoryQosStrategy& rule) {
  MemoryProtection out;
  if (rule.min_percent) out.min = percent_of(request, *rule.min_percent);
  if (rule.low_percent) out.low = percent_of(request, *rule.low_percent);
  if (out.min && out.low && out.low->v > 0) out.low = std::max(*out.low, *out.min);
  return out;
}

MemoryProtection bounded(const MemoryProtection& wanted, std::int64_t share_permille) {
  if (!wanted.min || share_permille >= 1000) return wanted;
  MemoryProtection out = wanted;
  out.min = whole_pages(bytes(Wide{wanted.min->v} * share_permille / 1000));
  out.low = std::max(wanted.low.value_or(Bytes{}), *wanted.min);
  return out;
}

void add(MemoryProtection& sum, const MemoryProtection& part) {
  add(sum.min, part.min);
  add(sum.low, part.low);
}

std::optional<MemoryBound> memory_high(const MemoryAsk& ask,
                                       const std::optional<Bytes>& allocatable,
                                       const std::optional<int>& percent,
                                       Bytes min) {
  if (!percent) return std::nullopt;
  if (*percent == 0) return MemoryBound::unlimited();
  const auto& limit = ask.limit ? ask.limit : allocatable;
  if (!limit) return std::nullopt;
  // Exact: the truncation is the one of the page.
  const Wide hundredths = Wide{ask.request.v} * 100 + (Wide{limit->v} - ask.request.v) * *percent;
  Bytes high = whole_pages(bytes(hundredths / 100));
  if (high.v > 0) high = std::max(high, min);
  return MemoryBound{high};
}

int bound_permille(Bytes wanted, Bytes total, int percent) {
  const Wide bound = Wide{total.v} * percent / 100;
  if (Wide{wanted.v} <= bound) return 1000;
  return static_cast<int>(bound * 1000 / wanted.v);
}

ContainerMemory container_memory(const MemoryAsk& ask,
                                 const MemoryQosStrategy& rule,
                                 const std::optional<Bytes>& allocatable,
                                 int min_permille) {
  const auto wanted = memory_protection(ask.request, rule);
  ContainerMemory out;
  out.protection = bounded(wanted, min_permille);
  out.high = memory_high(ask, allocatable, rule.throttling_percent, wanted.min.value_or(Bytes{}));
  return out;
}

PageCacheLimit page_cache_limit(const MemoryQosStrategy& rule, const std::optional<Bytes>& limit) {
  PageCacheLimit out;
  if (rule.page_cache_limit_size) {
    out.size = limit ? std::min(*rule.page_cache_limit_size, *limit) : *rule.page_cache_limit_size;
  } else if (rule.page_cache_limit_percent && limit) {
    out.size = percent_of(*limit, *rule.page_cache_limit_percent);
  }
  if (out.size) {
    out.enable = out.size->v > 0;
    if (*out.enable) out.sync = rule.page_cache_reclaim_sync.value_or(false);
  }
  if (rule.page_cache_enable) out.enable = rule.page_cache_enable;
  return out;
}

const MemoryClass& memory_class(const Pod& pod, const MemoryQosConfig& config) {
  switch (qos_with_default(pod)) {
    case QosClass::kLse:
    case QosClass::kLsr:
      return config.lsr;
    case QosClass::kBe:
      return config.be;
    case QosClass::kSystem:
      return config.system;
    case QosClass::kLs:
    case QosClass::kNone:
      break;
  }
  return config.ls;
}

std::optional<MemoryQosStrategy> pod_memory_rule(const Pod& pod, const MemoryQosConfig& config) {
  const MemoryClass& of_class = memory_class(pod, config);
  const bool own = config.annotations && pod.memory_qos;
  if (!own) return of_class.enable ? std::optional{of_class.values} : std::nullopt;
  MemoryQosStrategy rule;
  switch (pod.memory_qos->policy) {
    case PodMemoryPolicy::kNone:
      break;  // the fields of the annotation say nothing then
    case PodMemoryPolicy::kAuto:
      rule = built_in(pod);
      overlay(rule, pod.memory_qos->fields);
      break;
    case PodMemoryPolicy::kDefault:
      rule = of_class.values;
      overlay(rule, pod.memory_qos->fields);
      break;
  }
  keep_within(rule, of_class.values, qos_with_default(pod) == QosClass::kBe);
  return rule == MemoryQosStrategy{} ? std::nullopt : std::optional{rule};
}

Bytes protected_cache(Bytes without_cache, Bytes with_cache, Bytes min) {
  const Bytes cache = std::max(with_cache - without_cache, Bytes{});
  return std::clamp(min - without_cache, Bytes{}, cache);
}

}  // namespace koordlet::policy
