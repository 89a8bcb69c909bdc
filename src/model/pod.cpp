#include "model/pod.hpp"

#include <fmt/format.h>

namespace koordlet {

std::string_view to_string(QosClass q) {
  switch (q) {
    case QosClass::kNone:
      return "";
    case QosClass::kLse:
      return "LSE";
    case QosClass::kLsr:
      return "LSR";
    case QosClass::kLs:
      return "LS";
    case QosClass::kBe:
      return "BE";
    case QosClass::kSystem:
      return "SYSTEM";
  }
  return "?";
}

std::string_view to_string(PriorityClass p) {
  switch (p) {
    case PriorityClass::kNone:
      return "";
    case PriorityClass::kProd:
      return "koord-prod";
    case PriorityClass::kMid:
      return "koord-mid";
    case PriorityClass::kBatch:
      return "koord-batch";
    case PriorityClass::kFree:
      return "koord-free";
  }
  return "?";
}

std::string_view to_string(PodPhase p) {
  switch (p) {
    case PodPhase::kPending:
      return "Pending";
    case PodPhase::kRunning:
      return "Running";
    case PodPhase::kSucceeded:
      return "Succeeded";
    case PodPhase::kFailed:
      return "Failed";
    case PodPhase::kUnknown:
      return "Unknown";
  }
  return "?";
}

QosClass parse_qos_class(std::string_view label) {
  for (const auto q :
       {QosClass::kLse, QosClass::kLsr, QosClass::kLs, QosClass::kBe, QosClass::kSystem}) {
    if (label == to_string(q)) return q;
  }
  return QosClass::kNone;
}

std::string full_name(const Pod& pod) { return fmt::format("{}/{}", pod.ns, pod.name); }

bool is_active(const Pod& pod) {
  return pod.phase == PodPhase::kPending || pod.phase == PodPhase::kRunning;
}

QosClass qos_with_default(const Pod& pod) {
  if (pod.qos != QosClass::kNone) return pod.qos;
  switch (pod.kube_qos) {
    case KubeQos::kGuaranteed:
      return QosClass::kLsr;
    case KubeQos::kBurstable:
      return QosClass::kLs;
    case KubeQos::kBestEffort:
      break;
  }
  return QosClass::kBe;
}

bool is_best_effort(const Pod& pod) {
  return pod.qos == QosClass::kBe || pod.kube_qos == KubeQos::kBestEffort;
}

PriorityClass priority_class_with_default(const Pod& pod) {
  const auto by_qos =
      qos_with_default(pod) == QosClass::kBe ? PriorityClass::kBatch : PriorityClass::kProd;
  if (const auto label = pod.labels.find("koordinator.sh/priority-class");
      label != pod.labels.end()) {
    for (const auto p :
         {PriorityClass::kProd, PriorityClass::kMid, PriorityClass::kBatch, PriorityClass::kFree}) {
      if (label->second == to_string(p)) return p;
    }
    return by_qos;  // an unknown label value suppresses the band
  }
  const int v = pod.priority.value_or(0);
  if (v >= 9000 && v <= 9999) return PriorityClass::kProd;
  if (v >= 7000 && v <= 7999) return PriorityClass::kMid;
  if (v >= 5000 && v <= 5999) return PriorityClass::kBatch;
  if (v >= 3000 && v <= 3999) return PriorityClass::kFree;
  return by_qos;
}

int priority_value(const Pod& pod) {
  if (pod.priority.value_or(0) != 0) return *pod.priority;
  switch (priority_class_with_default(pod)) {
    case PriorityClass::kProd:
      return 9500;
    case PriorityClass::kMid:
      return 7500;
    case PriorityClass::kBatch:
      return 5500;
    case PriorityClass::kFree:
      return 3500;
    case PriorityClass::kNone:
      break;
  }
  return 0;
}

std::optional<MilliCpu> be_cpu_request(const Pod& pod) {
  std::optional<MilliCpu> batch;
  std::optional<MilliCpu> native;
  for (const auto& c : pod.containers) {
    if (c.init) continue;
    if (c.requests.batch_cpu) batch = batch.value_or(MilliCpu{}) + *c.requests.batch_cpu;
    if (c.requests.cpu) native = native.value_or(MilliCpu{}) + *c.requests.cpu;
  }
  const auto& request = batch ? batch : native;
  if (!request || request->v <= 0) return std::nullopt;
  return request;
}

}  // namespace koordlet
