#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "k8s/fields.hpp"
#include "k8s/manifest.hpp"
#include "k8s/metadata.hpp"
#include "k8s/names.hpp"
#include "k8s/node_slo_sections.hpp"
#include "k8s/pod_parts.hpp"

namespace koordlet::k8s {
namespace {

constexpr std::string_view kQosLabel = "koordinator.sh/qosClass";
constexpr std::string_view kResourceStatus = "scheduling.koordinator.sh/resource-status";
constexpr std::string_view kBlkIo = "koordinator.sh/blkioQOS";
constexpr const char* kConfigMirror = "kubernetes.io/config.mirror";
constexpr const char* kConfigHash = "kubernetes.io/config.hash";

/// A name that must be there: its text, or what is wrong with it.
Result<std::string> required(const json::object& metadata,
                             std::string_view key,
                             std::string_view subject,
                             bool (*valid)(std::string_view),
                             std::string_view expected) {
  const auto* v = metadata.if_contains(key);
  if (v == nullptr || v->is_null()) {
    return Error{Errc::kParse,
                 fmt::format("{}: metadata.{}: absent: expected {}", subject, key, expected)};
  }
  if (!v->is_string() || !valid(v->get_string())) {
    return Error{
        Errc::kRange,
        fmt::format("{}: metadata.{}: {}: expected {}", subject, key, shown(*v), expected)};
  }
  return std::string{v->get_string()};
}

PodPhase decode_phase(const Fields& status) {
  const auto text = status.text("phase");
  if (text.refused) return PodPhase::kUnknown;
  if (!text.value || text.value->empty()) return PodPhase::kPending;
  for (const auto p : {PodPhase::kPending,
                       PodPhase::kRunning,
                       PodPhase::kSucceeded,
                       PodPhase::kFailed,
                       PodPhase::kUnknown}) {
    if (*text.value == to_string(p)) return p;
  }
  status.refuse(
      "phase", json::value(*text.value), "Pending, Running, Succeeded, Failed or Unknown");
  return PodPhase::kUnknown;
}

std::optional<KubeQos> decode_kube_qos(const Fields& status) {
  const auto text = status.text("qosClass");
  if (!text.value || text.value->empty()) return std::nullopt;
  for (const auto q : {KubeQos::kGuaranteed, KubeQos::kBurstable, KubeQos::kBestEffort}) {
    if (*text.value == to_string(q)) return q;
  }
  status.refuse("qosClass", json::value(*text.value), "Guaranteed, Burstable or BestEffort");
  return std::nullopt;
}

/// CPUs that the scheduler allocated. What of it cannot be read leaves all of it unknown.
void decode_allocation(Pod& pod, Refusals& refusals) {
  const auto annotation = pod.annotations.find(std::string{kResourceStatus});
  if (annotation == pod.annotations.end()) return;
  const auto before = refusals.count();
  if (const auto object = parse_annotation(kResourceStatus, annotation->second, refusals)) {
    const Fields fields{
        *object, fmt::format("metadata.annotations[{}]", kResourceStatus), refusals, KeyCase::kAny};
    if (const auto text = fields.text("cpuset"); text.value) {
      const auto cpus = CpuSet::parse(*text.value);
      if (cpus) pod.allocated_cpus = *cpus;
      if (!cpus) fields.refuse("cpuset", cpus.error().context);
    }
    pod.allocated_numa = decode_numa_nodes(fields);
  }
  if (refusals.count() != before) pod.allocated_numa.reset();
}

std::vector<IoBlock> decode_blkio_annotation(const Pod& pod, Refusals& refusals) {
  const auto annotation = pod.annotations.find(std::string{kBlkIo});
  if (annotation == pod.annotations.end()) return {};
  const auto object = parse_annotation(kBlkIo, annotation->second, refusals);
  if (!object) return {};
  const Fields fields{*object, fmt::format("metadata.annotations[{}]", kBlkIo), refusals};
  return decode_io_blocks(fields, {});
}

void decode_status(const Fields& root, const Fields* spec, Pod& pod) {
  std::optional<KubeQos> stated;
  const auto status = root.object("status");
  // Without a status the API server has not seen it start: that is its Pending.
  pod.phase = PodPhase::kPending;
  if (status.value) {
    pod.phase = decode_phase(*status.value);
    stated = decode_kube_qos(*status.value);
    apply_statuses(*status.value, pod.containers);
  }
  std::optional<RequestsAndLimits> pod_level;
  if (spec != nullptr) pod_level = decode_resources(*spec);
  pod.kube_qos = stated ? *stated : compute_kube_qos(pod.containers, pod_level);
}

/// Text of a reference to another object: it only ever becomes part of a message.
std::optional<std::string> reference_text(const Fields& reference, std::string_view key) {
  auto text = reference.text(key);
  if (text.refused) return std::nullopt;
  const std::string value = text.value.value_or("");
  const bool good =
      !value.empty() && value.size() <= 253 &&
      std::all_of(value.begin(), value.end(), [](char c) { return c > 0x20 && c < 0x7f; });
  if (good) return value;
  reference.refuse(key, json::value(value), "1 to 253 printable characters");
  return std::nullopt;
}

/// At most one reference may be the controller; the first that says so counts.
std::optional<PodOwner> decode_owner(const Fields& metadata) {
  const auto* list = metadata.array("ownerReferences");
  if (list == nullptr) return std::nullopt;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const auto at = fmt::format("ownerReferences[{}]", i);
    const json::value& item = (*list)[i];
    if (!item.is_object()) {
      metadata.refuse(at, item, "an object");
      continue;
    }
    const Fields fields{item.get_object(), metadata.path(at), metadata.refusals()};
    if (!fields.boolean("controller").value.value_or(false)) continue;
    auto kind = reference_text(fields, "kind");
    auto name = reference_text(fields, "name");
    auto uid = reference_text(fields, "uid");
    if (!kind || !name || !uid) continue;
    PodOwner owner;
    owner.kind = std::move(*kind);
    owner.name = std::move(*name);
    owner.uid = std::move(*uid);
    return owner;
  }
  return std::nullopt;
}

void decode_metadata(const Fields& metadata, Pod& pod) {
  pod.labels = decode_text_map(metadata, "labels");
  pod.annotations = decode_text_map(metadata, "annotations");
  pod.terminating = metadata.find("deletionTimestamp") != nullptr;
  pod.owner = decode_owner(metadata);
  if (const auto label = pod.labels.find(std::string{kQosLabel}); label != pod.labels.end()) {
    pod.qos = parse_qos_class(label->second);
  }
}

}  // namespace

Result<PodResult> decode_pod(const json::value& object) {
  const auto found = find_metadata(object, "pod");
  if (!found) return found.error();
  const auto ns = required(
      *found->object, "namespace", fmt::format("pod {}", found->name), is_dns_label, "a DNS label");
  if (!ns) return ns.error();
  const auto subject = fmt::format("pod {}/{}", *ns, found->name);
  const auto uid = required(*found->object, "uid", subject, is_uid, "[A-Za-z0-9-]{1,253}");
  if (!uid) return uid.error();

  PodResult out;
  Pod& pod = out.pod;
  pod.uid = *uid;
  pod.ns = *ns;
  pod.name = found->name;
  Refusals refusals{subject};
  const Fields root{object.get_object(), "", refusals};
  decode_metadata(Fields{*found->object, "metadata", refusals}, pod);
  const auto spec = root.object("spec");
  if (spec.value) {
    const auto node = spec.value->text("nodeName");
    out.node_name = node.value.value_or("");
    constexpr auto kLow = std::numeric_limits<std::int32_t>::min();
    constexpr auto kHigh = std::numeric_limits<std::int32_t>::max();
    const auto priority = spec.value->integer("priority", kLow, kHigh);
    if (priority.value) pod.priority = static_cast<int>(*priority.value);
    pod.containers = decode_containers(*spec.value);
    pod.overhead = decode_overhead(*spec.value);
  }
  decode_status(root, spec.value ? &*spec.value : nullptr, pod);
  decode_allocation(pod, refusals);
  pod.io_blocks = decode_blkio_annotation(pod, refusals);
  pod.burst = decode_burst_annotation(pod.annotations, refusals);
  pod.memory_qos = decode_memory_annotation(pod.annotations, refusals);
  out.faults = refusals.take();
  return out;
}

std::string_view cgroup_uid(const Pod& pod) {
  if (!pod.annotations.contains(kConfigMirror)) return pod.uid;
  const auto hash = pod.annotations.find(kConfigHash);
  return hash != pod.annotations.end() && is_uid(hash->second) ? std::string_view{hash->second}
                                                               : std::string_view{pod.uid};
}

}  // namespace koordlet::k8s
