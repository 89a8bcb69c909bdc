#include <initializer_list>

#include "k8s/fields.hpp"
#include "k8s/node_metric.hpp"
#include "k8s/quantity.hpp"
#include "k8s/time_text.hpp"

namespace koordlet::k8s {
namespace {

json::object encode(const ResourceUse& use) {
  json::object out;
  if (!use.cpu || !use.memory) return out;
  out["resources"] =
      json::object{{"cpu", format_cpu(*use.cpu)}, {"memory", format_memory(*use.memory)}};
  return out;
}

json::object encode(const AggregatedUse& use) {
  json::object values;
  values["avg"] = encode(use.avg);
  values["p50"] = encode(use.p50);
  values["p90"] = encode(use.p90);
  values["p95"] = encode(use.p95);
  values["p99"] = encode(use.p99);
  json::object out;
  out["usage"] = std::move(values);
  out["duration"] = format_duration(use.duration);
  return out;
}

void put_text(json::object& out, std::string_view key, std::string_view text) {
  if (!text.empty()) out[key] = text;
}

json::object encode(const PodUse& pod) {
  json::object out;
  put_text(out, "name", pod.name);
  put_text(out, "namespace", pod.ns);
  out["podUsage"] = encode(pod.use);
  put_text(out, "priority", to_string(pod.priority));
  put_text(out, "qos", to_string(pod.qos));
  return out;
}

json::object encode(const HostApplicationUse& app) {
  json::object out;
  put_text(out, "name", app.name);
  out["usage"] = encode(app.use);
  put_text(out, "priority", app.priority);
  put_text(out, "qos", app.qos);
  return out;
}

template <class T>
void put_list(json::object& out, std::string_view key, const std::vector<T>& items) {
  if (items.empty()) return;
  json::array list;
  list.reserve(items.size());
  for (const auto& item : items) list.push_back(encode(item));
  out[key] = std::move(list);
}

json::object prediction(const ResourceUse& use) {
  json::object out;
  out["resource"] = encode(use);
  return out;
}

void null_absent(json::object& object, std::initializer_list<std::string_view> keys) {
  for (const auto key : keys) {
    if (!object.contains(key)) object[key] = nullptr;
  }
}

/// A ResourceMap below `key`: "{}" alone would leave the values of the report before.
void complete(json::object& parent, std::string_view key) {
  auto* map = parent.if_contains(key);
  if (map != nullptr && map->is_object()) null_absent(map->get_object(), {"resources", "devices"});
}

}  // namespace

json::object encode_node_metric_status(const NodeReport& report) {
  json::object node;
  node["nodeUsage"] = encode(report.node);
  put_list(node, "aggregatedNodeUsages", report.node_aggregated);
  node["systemUsage"] = encode(report.system);
  put_list(node, "aggregatedSystemUsages", report.system_aggregated);
  json::object out;
  out["updateTime"] = format_time(report.collected_at);
  out["nodeMetric"] = std::move(node);
  put_list(out, "podsMetric", report.pods);
  put_list(out, "hostApplicationMetric", report.host_applications);
  out["prodReclaimableMetric"] = prediction(report.prod_reclaimable);
  if (report.prod_peak) out["prodPeakMetric"] = prediction(*report.prod_peak);
  return out;
}

json::object node_metric_patch(json::object status) {
  null_absent(status, {"podsMetric", "hostApplicationMetric", "prodPeakMetric"});
  auto* node = status.if_contains("nodeMetric");
  if (node != nullptr && node->is_object()) {
    auto& fields = node->get_object();
    // Lists are replaced whole: nothing inside them needs a null, nor may have one.
    null_absent(fields, {"aggregatedNodeUsages", "aggregatedSystemUsages", "numaUsages"});
    complete(fields, "nodeUsage");
    complete(fields, "systemUsage");
  }
  for (const auto* key : {"prodReclaimableMetric", "prodPeakMetric"}) {
    auto* metric = status.if_contains(key);
    if (metric != nullptr && metric->is_object()) complete(metric->get_object(), "resource");
  }
  json::object out;
  out["status"] = std::move(status);
  return out;
}

}  // namespace koordlet::k8s
