#include <algorithm>

#include <fmt/format.h>

#include "k8s/amounts.hpp"
#include "k8s/fields.hpp"
#include "k8s/manifest.hpp"
#include "k8s/metadata.hpp"

namespace koordlet::k8s {
namespace {

constexpr std::string_view kReservation = "node.koordinator.sh/reservation";
constexpr std::string_view kRawAllocatable = "node.koordinator.sh/raw-allocatable";
constexpr std::string_view kSystemQos = "node.koordinator.sh/system-qos-resource";
constexpr std::string_view kCpuManagerPolicy = "kubelet.koordinator.sh/cpu-manager-policy";

CpuSet cpus_of(const Fields& fields, std::string_view key) {
  const auto text = fields.text(key);
  if (!text.value) return {};
  const auto cpus = CpuSet::parse(*text.value);
  if (cpus) return *cpus;
  fields.refuse(key, cpus.error().context);
  return {};
}

struct Reservation {
  std::optional<MilliCpu> cpu;
  std::optional<Bytes> memory;
  CpuSet cpus;
};

Fields annotation_fields(const json::object& object, std::string_view key, Refusals& refusals) {
  return Fields{object, fmt::format("metadata.annotations[{}]", key), refusals, KeyCase::kAny};
}

/// applyPolicy only tells the scheduler what to do: the reservation holds on the node either way.
Reservation decode_reservation(const std::string& text, Refusals& refusals) {
  Reservation out;
  const auto object = parse_annotation(kReservation, text, refusals);
  if (!object) return out;
  const auto fields = annotation_fields(*object, kReservation, refusals);
  const auto resources = fields.object("resources");
  if (resources.value) {
    out.cpu = cpu_amount(*resources.value, "cpu");
    out.memory = memory_amount(*resources.value, "memory");
  }
  out.cpus = cpus_of(fields, "reservedCPUs");
  if (!out.cpus.empty()) out.cpu = MilliCpu{std::int64_t{1000} * out.cpus.count()};
  return out;
}

void decode_raw_allocatable(const std::string& text, Refusals& refusals, Node& node) {
  const auto object = parse_annotation(kRawAllocatable, text, refusals);
  if (!object) return;
  const auto fields = annotation_fields(*object, kRawAllocatable, refusals);
  node.raw_cpu_allocatable = cpu_amount(fields, "cpu");
  node.raw_memory_allocatable = memory_amount(fields, "memory");
}

CpuSet decode_system_cpus(const std::string& text, Refusals& refusals) {
  const auto object = parse_annotation(kSystemQos, text, refusals);
  if (!object) return {};
  const auto fields = annotation_fields(*object, kSystemQos, refusals);
  const auto exclusive = fields.boolean("cpusetExclusive");
  // A damaged flag keeps the CPUs apart: that is the default, and the careful reading.
  return exclusive.value.value_or(true) ? cpus_of(fields, "cpuset") : CpuSet{};
}

KubeletCpuPolicy decode_cpu_policy(const std::string& text, Refusals& refusals) {
  const auto plain = kubelet_cpu_policy(text);
  if (plain != KubeletCpuPolicy::kUnknown) return plain;
  const auto object = parse_annotation(kCpuManagerPolicy, text, refusals);
  if (!object) return KubeletCpuPolicy::kUnknown;
  const auto fields = annotation_fields(*object, kCpuManagerPolicy, refusals);
  const auto policy = fields.text("policy");
  if (!policy.value || policy.value->empty()) return KubeletCpuPolicy::kUnknown;
  const auto known = kubelet_cpu_policy(*policy.value);
  if (known != KubeletCpuPolicy::kUnknown) return known;
  fields.refuse("policy", json::value(*policy.value), "static or none");
  return KubeletCpuPolicy::kUnknown;
}

void decode_capacity(const Fields& status, Node& node) {
  const auto capacity = status.object("capacity");
  if (capacity.value) {
    node.cpu_capacity = cpu_amount(*capacity.value, "cpu").value_or(MilliCpu{});
    node.memory_capacity = memory_amount(*capacity.value, "memory").value_or(Bytes{});
  }
  const auto allocatable = status.object("allocatable");
  if (!allocatable.value) return;
  const Fields& list = *allocatable.value;
  node.cpu_allocatable = cpu_amount(list, "cpu");
  node.memory_allocatable = memory_amount(list, "memory");
  node.batch_cpu_allocatable = milli_amount(list, "kubernetes.io/batch-cpu");
  node.batch_memory_allocatable = memory_amount(list, "kubernetes.io/batch-memory");
  node.mid_cpu_allocatable = milli_amount(list, "kubernetes.io/mid-cpu");
  node.mid_memory_allocatable = memory_amount(list, "kubernetes.io/mid-memory");
}

/// Of many keys only ours: a Node carries whatever else its cluster hangs on it.
std::map<std::string, std::string> ours(const std::map<std::string, std::string>& all) {
  std::map<std::string, std::string> out;
  for (const auto& [key, value] : all) {
    const auto domain = key.substr(0, key.find('/'));
    if (domain == "koordinator.sh" || domain.ends_with(".koordinator.sh")) out.emplace(key, value);
  }
  return out;
}

/// max(capacity - allocatable, annotation), never below zero; an unknown capacity reserves nothing.
template <class T>
T reserved(T capacity, const std::optional<T>& allocatable, const std::optional<T>& annotation) {
  T out = annotation.value_or(T{});
  if (capacity.v > 0 && allocatable) out = std::max(out, capacity - *allocatable);
  return out;
}

}  // namespace

Result<NodeResult> decode_node(const json::value& object) {
  const auto found = find_metadata(object, "node");
  if (!found) return found.error();
  NodeResult out;
  Node& node = out.node;
  node.name = found->name;
  Refusals refusals{fmt::format("node {}", node.name)};
  const Fields root{object.get_object(), "", refusals};
  const auto status = root.object("status");
  if (status.value) decode_capacity(*status.value, node);

  const Fields metadata{*found->object, "metadata", refusals};
  const auto annotations = decode_text_map(metadata, "annotations");
  node.labels = ours(decode_text_map(metadata, "labels"));
  node.annotations = ours(annotations);
  const auto text = [&annotations](std::string_view key) -> const std::string* {
    const auto at = annotations.find(std::string{key});
    return at == annotations.end() ? nullptr : &at->second;
  };
  Reservation reservation;
  if (const auto* t = text(kReservation)) reservation = decode_reservation(*t, refusals);
  node.reserved_cpus = reservation.cpus;
  node.cpu_reserved = reserved(node.cpu_capacity, node.cpu_allocatable, reservation.cpu);
  node.memory_reserved =
      reserved(node.memory_capacity, node.memory_allocatable, reservation.memory);
  if (const auto* t = text(kRawAllocatable)) decode_raw_allocatable(*t, refusals, node);
  if (const auto* t = text(kSystemQos)) node.system_cpus = decode_system_cpus(*t, refusals);
  if (const auto* t = text(kCpuManagerPolicy)) node.cpu_policy = decode_cpu_policy(*t, refusals);
  out.faults = refusals.take();
  return out;
}

}  // namespace koordlet::k8s
