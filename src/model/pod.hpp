#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cgroup.hpp"
#include "base/units.hpp"
#include "model/slo_blkio.hpp"
#include "model/slo_burst.hpp"
#include "model/slo_memory.hpp"

namespace koordlet {

/// Label koordinator.sh/qosClass. kNone: no label, or a value that is not one of the five (they are
/// case-sensitive).
enum class QosClass { kNone, kLse, kLsr, kLs, kBe, kSystem };
/// Bands of spec.priority, or the label koordinator.sh/priority-class.
enum class PriorityClass { kNone, kProd, kMid, kBatch, kFree };
enum class PodPhase { kPending, kRunning, kSucceeded, kFailed, kUnknown };

std::string_view to_string(QosClass q);  ///< "", "LSE", "LSR", "LS", "BE", "SYSTEM"
std::string_view to_string(
    PriorityClass p);  ///< "", "koord-prod", "koord-mid", "koord-batch", "koord-free"
std::string_view to_string(PodPhase p);  ///< "Pending", ...
QosClass parse_qos_class(std::string_view label);

/// Requests or limits of one container. An absent entry is "not given", never zero.
struct Resources {
  std::optional<MilliCpu> cpu;
  std::optional<Bytes> memory;
  std::optional<MilliCpu> batch_cpu;  ///< kubernetes.io/batch-cpu: integer milli-cores
  std::optional<Bytes> batch_memory;
  std::optional<MilliCpu> mid_cpu;
  std::optional<Bytes> mid_memory;
  friend bool operator==(const Resources&, const Resources&) = default;
};

struct Container {
  std::string name;
  std::string runtime;  ///< "containerd", "docker", "cri-o", "pouch"; "" while it has no id
  std::string id;       ///< without "<runtime>://"; "" while the runtime has not made it
  bool running = false;
  bool init = false;  ///< init container that is not a sidecar: not part of the pod's sums
  Resources requests;
  Resources limits;
  std::optional<CgroupPath> cgroup;  ///< set when the id is known and valid
  friend bool operator==(const Container&, const Container&) = default;
};

/// Who makes the pod again when it is gone.
struct PodOwner {
  std::string kind;  ///< "ReplicaSet", "DaemonSet", "Job", ...
  std::string name;
  std::string uid;
  friend bool operator==(const PodOwner&, const PodOwner&) = default;
};

struct Pod {
  std::string uid;
  std::string ns;
  std::string name;
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> annotations;
  PodPhase phase = PodPhase::kUnknown;
  KubeQos kube_qos =
      KubeQos::kBestEffort;           ///< status.qosClass, computed from the containers if absent
  QosClass qos = QosClass::kNone;     ///< raw label
  std::optional<int> priority;        ///< spec.priority
  std::vector<Container> containers;  ///< containers, sidecars and init containers
  CgroupPath cgroup;                  ///< pod directory; derived from uid, kube_qos and driver
  bool terminating = false;           ///< metadata.deletionTimestamp is set
  std::optional<PodOwner> owner;      ///< the controller among metadata.ownerReferences
  CpuSet allocated_cpus;  ///< annotation scheduling.koordinator.sh/resource-status, "cpuset"; empty
                          ///< = none
  /// Same annotation: NUMA nodes it got CPU of; nullopt: the annotation cannot be read, so that
  /// nothing is known of its CPUs.
  std::optional<std::vector<int>> allocated_numa{std::in_place};
  std::vector<IoBlock> io_blocks;  ///< annotation koordinator.sh/blkioQOS
  Resources overhead{};            ///< spec.overhead: the pod's cgroup beyond its containers
  std::optional<CpuBurstStrategy> burst{};   ///< annotation koordinator.sh/cpuBurst
  std::optional<PodMemoryQos> memory_qos{};  ///< annotation koordinator.sh/memoryQOS
  friend bool operator==(const Pod&, const Pod&) = default;
};

std::string full_name(const Pod& pod);  ///< "namespace/name"
bool is_active(const Pod& pod);         ///< Pending or Running
/// Label, else by kube QoS: Guaranteed LSR, Burstable LS, BestEffort BE.
QosClass qos_with_default(const Pod& pod);
/// What CPU suppression counts as best effort: raw label BE, or kube BestEffort (such a pod lives
/// below the BE root, whatever its label says).
bool is_best_effort(const Pod& pod);
/// Label, else band, else by QoS (BE: batch, others: prod). `priority_class_label` unknown value
/// counts as none.
PriorityClass priority_class_with_default(const Pod& pod);
/// spec.priority when set and not 0, else 9500, 7500, 5500 or 3500 by priority class with default.
int priority_value(const Pod& pod);
/// CPU that a BE pod asked for: sum of batch-cpu over containers and sidecars, else of the native
/// cpu requests; nullopt when no container states either (plain Kubernetes BestEffort).
std::optional<MilliCpu> be_cpu_request(const Pod& pod);

}  // namespace koordlet
