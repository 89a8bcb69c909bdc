#include "k8s/node_metric.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "k8s/fields.hpp"
#include "k8s/metadata.hpp"
#include "k8s/time_text.hpp"

namespace koordlet::k8s {
namespace {

using std::chrono::seconds;

constexpr seconds kMinAggregate{60};
constexpr seconds kMinInterval{10};
constexpr seconds kMaxWindow = std::chrono::days{7};
constexpr seconds kMaxInterval = std::chrono::days{1};
constexpr std::size_t kMaxDurations = 10;

/// Values below the least are raised, as the control plane expects; what is no count at all is not.
seconds count_of(const Fields& policy,
                 std::string_view key,
                 seconds least,
                 seconds most,
                 seconds fallback,
                 seconds before,
                 bool* given = nullptr) {
  const auto read = policy.integer(key, 1, most.count());
  if (read.refused) return before;
  if (given != nullptr) *given = read.value.has_value();
  return read.value ? std::max(least, seconds{*read.value}) : fallback;
}

std::optional<seconds> duration_of(const json::value& item) {
  if (!item.is_string()) return std::nullopt;
  const auto parsed = parse_duration(item.get_string());
  if (!parsed) return std::nullopt;
  const auto whole = std::chrono::floor<seconds>(*parsed);
  if (whole < seconds{1} || whole > kMaxWindow) return std::nullopt;
  return whole;
}

std::vector<seconds> durations_of(const Fields& policy,
                                  const std::vector<seconds>& fallback,
                                  const std::vector<seconds>& before) {
  const auto aggregate = policy.object("nodeAggregatePolicy");
  if (aggregate.refused) return before;
  if (!aggregate.value || aggregate.value->find("durations") == nullptr) return fallback;
  const auto* list = aggregate.value->array("durations");
  if (list == nullptr) return before;
  if (list->size() > kMaxDurations) {
    aggregate.value->refuse(
        "durations", fmt::format("{} entries: expected at most {}", list->size(), kMaxDurations));
    return before;
  }
  std::vector<seconds> out;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const auto d = duration_of((*list)[i]);
    if (!d) {
      aggregate.value->refuse(
          fmt::format("durations[{}]", i), (*list)[i], "a duration of 1s to 168h");
      return before;
    }
    out.push_back(*d);
  }
  return out.empty() ? fallback : out;
}

MemoryCollectPolicy memory_of(const Fields& policy,
                              MemoryCollectPolicy fallback,
                              MemoryCollectPolicy before) {
  const auto text = policy.text("nodeMemoryCollectPolicy");
  if (text.refused) return before;
  if (!text.value || text.value->empty()) return fallback;
  if (*text.value == "usageWithoutPageCache") return MemoryCollectPolicy::kWithoutPageCache;
  if (*text.value == "usageWithHotPageCache") return MemoryCollectPolicy::kWithHotPageCache;
  if (*text.value == "usageWithPageCache") return MemoryCollectPolicy::kWithPageCache;
  policy.refuse("nodeMemoryCollectPolicy",
                json::value(*text.value),
                "usageWithoutPageCache, usageWithHotPageCache or usageWithPageCache");
  return before;
}

NodeMetricSpec decode_spec(const Fields& root, const NodeMetricSpec& before) {
  const NodeMetricSpec fallback;
  const auto spec = root.object("spec");
  if (spec.refused) return before;
  if (!spec.value) return fallback;
  const auto section = spec.value->object("metricCollectPolicy");
  if (section.refused) return before;
  if (!section.value) return fallback;
  const Fields& policy = *section.value;
  NodeMetricSpec out;
  out.interval_given = before.interval_given;
  out.aggregate = count_of(policy,
                           "aggregateDurationSeconds",
                           kMinAggregate,
                           kMaxWindow,
                           fallback.aggregate,
                           before.aggregate);
  out.report_interval = count_of(policy,
                                 "reportIntervalSeconds",
                                 kMinInterval,
                                 kMaxInterval,
                                 fallback.report_interval,
                                 before.report_interval,
                                 &out.interval_given);
  out.durations = durations_of(policy, fallback.durations, before.durations);
  out.memory = memory_of(policy, fallback.memory, before.memory);
  return out;
}

}  // namespace

Result<NodeMetricResult> decode_node_metric(const json::value& object, const NodeMetricSpec* last) {
  const auto found = find_metadata(object, "nodemetric");
  if (!found) return found.error();
  NodeMetricResult out;
  out.name = found->name;
  Refusals refusals{fmt::format("nodemetric {}", out.name)};
  const Fields metadata{*found->object, "metadata", refusals};
  out.resource_version = metadata.text("resourceVersion").value.value_or("");
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  out.generation = metadata.integer("generation", 0, kMax).value.value_or(0);
  const Fields root{object.get_object(), "", refusals};
  const NodeMetricSpec none;
  out.spec = decode_spec(root, last != nullptr ? *last : none);
  out.faults = refusals.take();
  return out;
}

json::array owned_by_node(const std::string& name, const std::string& node_uid) {
  json::array out;
  if (node_uid.empty()) return out;
  out.push_back(json::object{{"apiVersion", "v1"},
                             {"kind", "Node"},
                             {"name", name},
                             {"uid", node_uid},
                             {"controller", true},
                             {"blockOwnerDeletion", true}});
  return out;
}

namespace {

std::string_view policy_name(MemoryCollectPolicy policy) {
  switch (policy) {
    case MemoryCollectPolicy::kWithHotPageCache:
      return "usageWithHotPageCache";
    case MemoryCollectPolicy::kWithPageCache:
      return "usageWithPageCache";
    case MemoryCollectPolicy::kWithoutPageCache:
      break;
  }
  return "usageWithoutPageCache";
}

}  // namespace

json::object new_node_metric(const std::string& name,
                             const std::string& node_uid,
                             const NodeMetricSpec& spec) {
  json::array durations;
  for (const auto d : spec.durations) durations.emplace_back(format_duration(d));
  json::object policy{{"aggregateDurationSeconds", spec.aggregate.count()},
                      {"reportIntervalSeconds", spec.report_interval.count()},
                      {"nodeMemoryCollectPolicy", policy_name(spec.memory)}};
  json::object aggregate;
  aggregate["durations"] = std::move(durations);
  policy["nodeAggregatePolicy"] = std::move(aggregate);
  json::object metadata{{"name", name}};
  auto owners = owned_by_node(name, node_uid);
  if (!owners.empty()) metadata["ownerReferences"] = std::move(owners);
  json::object wrapped;
  wrapped["metricCollectPolicy"] = std::move(policy);
  json::object out{{"apiVersion", "slo.koordinator.sh/v1alpha1"}, {"kind", "NodeMetric"}};
  out["metadata"] = std::move(metadata);
  out["spec"] = std::move(wrapped);
  return out;
}

}  // namespace koordlet::k8s
