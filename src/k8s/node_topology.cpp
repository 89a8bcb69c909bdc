#include "k8s/node_topology.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "k8s/amounts.hpp"
#include "k8s/fields.hpp"
#include "k8s/names.hpp"
#include "k8s/node_metric.hpp"
#include "k8s/quantity.hpp"
#include "k8s/same_json.hpp"

namespace koordlet::k8s {
namespace {

constexpr std::string_view kNumaReservation = "node.koordinator.sh/enable-numa-reservation";

json::object amount(std::string_view name, std::string capacity, std::string allocatable) {
  json::object out;
  out["name"] = name;
  out["capacity"] = std::move(capacity);
  out["available"] = allocatable;
  out["allocatable"] = std::move(allocatable);
  return out;
}

std::vector<json::object> zone_resources(const Zone& zone) {
  std::vector<json::object> out;
  const MilliCpu cpu{std::int64_t{1000} * zone.cpus};
  const MilliCpu left{std::max<std::int64_t>(0, cpu.v - zone.cpu_reserved.v)};
  out.push_back(amount("cpu", format_cpu(cpu), format_cpu(left)));
  const auto plain = [&out](std::string_view name, const std::optional<Bytes>& bytes) {
    if (bytes) out.push_back(amount(name, format_memory(*bytes), format_memory(*bytes)));
  };
  plain("hugepages-1Gi", zone.huge_1gi);
  plain("hugepages-2Mi", zone.huge_2mi);
  if (zone.memory) {
    const Bytes rest{std::max<std::int64_t>(0, zone.memory->v - zone.memory_reserved.v)};
    out.push_back(amount("memory", format_memory(*zone.memory), format_memory(rest)));
  }
  return out;
}

std::string_view name_of(const json::value& item) {
  const auto* object = item.if_object();
  const auto* name = object != nullptr ? object->if_contains("name") : nullptr;
  return name != nullptr && name->is_string() ? std::string_view{name->get_string()}
                                              : std::string_view{};
}

const json::value* named(const json::value* list, std::string_view name) {
  if (list == nullptr || !list->is_array()) return nullptr;
  for (const auto& item : list->get_array()) {
    if (name_of(item) == name) return &item;
  }
  return nullptr;
}

bool is_ours(std::string_view resource) {
  return resource == "cpu" || resource == "memory" || resource.starts_with("hugepages-");
}

void sort_by_name(json::array& list) {
  std::sort(list.begin(), list.end(), [](const json::value& a, const json::value& b) {
    return name_of(a) < name_of(b);
  });
}

/// Zones by text order of their names, as the original publishes them: node-10 before node-2.
json::array zones_of(const std::vector<Zone>& zones, const json::value* current) {
  json::array out;
  for (const auto& zone : zones) {
    const auto name = fmt::format("node-{}", zone.numa);
    const auto* before = named(current, name);
    json::object entry;
    if (before != nullptr) entry = before->get_object();
    json::array resources;
    for (auto& r : zone_resources(zone)) resources.push_back(std::move(r));
    const auto* old = entry.if_contains("resources");
    if (old != nullptr && old->is_array()) {
      for (const auto& r : old->get_array()) {
        if (!name_of(r).empty() && !is_ours(name_of(r))) resources.push_back(r);
      }
    }
    sort_by_name(resources);
    entry["name"] = name;
    entry["type"] = "Node";
    entry["resources"] = std::move(resources);
    out.push_back(std::move(entry));
  }
  sort_by_name(out);
  return out;
}

/// Sets `text` unless what is there says the same; true: set.
bool put_annotation(json::object& annotations, const std::string& key, const std::string& text) {
  auto* before = annotations.if_contains(key);
  if (before != nullptr && before->is_string() && same_json_text(before->get_string(), text)) {
    return false;
  }
  annotations[key] = text;
  return true;
}

json::object& object_in(json::object& parent, std::string_view key) {
  auto& value = parent[key];
  if (!value.is_object()) value = json::object{};
  return value.get_object();
}

bool put_label(json::object& metadata, const std::string& value) {
  const auto* labels = metadata.if_contains("labels");
  const auto* object = labels != nullptr ? labels->if_object() : nullptr;
  const auto* before = object != nullptr ? object->if_contains(kNumaReservation) : nullptr;
  if (value.empty()) {
    if (before == nullptr) return false;
    object_in(metadata, "labels").erase(kNumaReservation);
    return true;
  }
  if (before != nullptr && before->is_string() && before->get_string() == value) return false;
  object_in(metadata, "labels")[kNumaReservation] = value;
  return true;
}

bool put_value(json::object& object, std::string_view key, json::value want) {
  const auto* before = object.if_contains(key);
  if (before != nullptr && same_json(*before, want)) return false;
  object[key] = std::move(want);
  return true;
}

}  // namespace

json::object new_node_topology(const std::string& name,
                               const std::string& node_uid,
                               const NodeTopology& want) {
  json::object annotations;
  for (const auto& [key, text] : want.annotations) annotations[key] = text;
  json::object labels{{"app.kubernetes.io/managed-by", "Koordinator"}};
  if (!want.numa_reservation.empty()) labels[kNumaReservation] = want.numa_reservation;
  json::object metadata{{"name", name}};
  metadata["labels"] = std::move(labels);
  metadata["annotations"] = std::move(annotations);
  auto owners = owned_by_node(name, node_uid);
  if (!owners.empty()) metadata["ownerReferences"] = std::move(owners);
  json::array policies;
  policies.emplace_back(want.policy);
  json::object out{{"apiVersion", "topology.node.k8s.io/v1alpha1"},
                   {"kind", "NodeResourceTopology"}};
  out["metadata"] = std::move(metadata);
  out["topologyPolicies"] = std::move(policies);
  out["zones"] = zones_of(want.zones, nullptr);
  return out;
}

Result<std::optional<json::object>> update_node_topology(const json::value& current,
                                                         const NodeTopology& want) {
  const auto* object = current.if_object();
  const auto* metadata = object != nullptr ? object->if_contains("metadata") : nullptr;
  if (metadata == nullptr || !metadata->is_object()) {
    return Error{Errc::kParse, "noderesourcetopology: metadata: expected an object"};
  }
  json::object out = *object;
  auto& head = out["metadata"].get_object();
  bool changed = put_label(head, want.numa_reservation);
  for (const auto& [key, text] : want.annotations) {
    if (put_annotation(object_in(head, "annotations"), key, text)) changed = true;
  }
  json::array policies;
  policies.emplace_back(want.policy);
  if (put_value(out, "topologyPolicies", std::move(policies))) changed = true;
  const auto* zones = object->if_contains("zones");
  if (put_value(out, "zones", zones_of(want.zones, zones))) changed = true;
  if (!changed) return std::optional<json::object>{};
  return std::optional<json::object>{std::move(out)};
}

Result<CpuManagerState> decode_cpu_manager_state(const json::value& file) {
  if (!file.is_object()) return Error{Errc::kParse, "cpu_manager_state: expected an object"};
  CpuManagerState out;
  Refusals refusals{"cpu_manager_state"};
  const Fields root{file.get_object(), "", refusals};
  const auto policy = root.text("policyName");
  out.policy = kubelet_cpu_policy(policy.value.value_or(""));
  const auto entries = root.object("entries");
  if (out.policy == KubeletCpuPolicy::kStatic && entries.value) {
    for (const auto& pod : entries.value->raw()) {
      const std::string uid{pod.key()};
      const auto containers = entries.value->object(uid);
      if (!is_uid(uid) || !containers.value) {
        if (!containers.refused) entries.value->refuse(uid, "expected a pod's containers");
        continue;
      }
      for (const auto& c : containers.value->raw()) {
        const auto text = containers.value->text(c.key());
        if (!text.value) continue;
        const auto cpus = CpuSet::parse(*text.value);
        if (cpus) {
          out.pods[uid] = out.pods[uid] | *cpus;
        } else {
          containers.value->refuse(c.key(), cpus.error().context);
        }
      }
    }
  }
  out.faults = refusals.take();
  return out;
}

CpuReservation decode_cpu_reservation(std::string_view annotation) {
  CpuReservation out;
  Refusals refusals{"node"};  // told by the decoder of the Node already
  const auto object = parse_annotation("node.koordinator.sh/reservation", annotation, refusals);
  if (!object) return out;
  const Fields fields{*object, "", refusals, KeyCase::kAny};
  if (const auto text = fields.text("reservedCPUs"); text.value) {
    if (const auto cpus = CpuSet::parse(*text.value)) out.cpus = *cpus;
  }
  if (const auto resources = fields.object("resources"); resources.value) {
    out.cpu = cpu_amount(*resources.value, "cpu");
  }
  return out;
}

}  // namespace koordlet::k8s
