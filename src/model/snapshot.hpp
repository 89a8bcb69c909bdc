#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/cgroup.hpp"
#include "base/clock.hpp"
#include "base/cpu_conversion.hpp"
#include "base/units.hpp"
#include "model/cpu_pools.hpp"
#include "model/kubelet_cpus.hpp"
#include "model/ls_signal.hpp"
#include "model/node.hpp"
#include "model/node_state.hpp"
#include "model/resctrl.hpp"
#include "model/storage.hpp"
#include "model/usage.hpp"

namespace koordlet {

/// Rates over one sampling step, read in the same few microseconds. Unknown is nullopt, never zero.
struct NodeSignals {
  std::uint64_t seq =
      0;  ///< rises with each new sample: a rule that counts samples looks at this, not at the time
  MonoTime at;                            ///< right after the reads
  MilliCpu node_used;                     ///< whole machine, idle and iowait left out
  std::optional<MilliCpu> kubepods_used;  ///< all pods
  std::optional<MilliCpu> be_used;        ///< BE root cgroup; nullopt when there is none
  MilliCpu be_outside_used;               ///< BE-labelled pods that do not live below the BE root
  MilliCpu host_app_used;                 ///< non-BE host applications
  std::optional<Bytes> memory_used;       ///< MemTotal - MemAvailable
  std::optional<Bytes> memory_total;
};

/// What is in the kernel now, read this tick for the keys the policy may touch.
struct BeRoot {
  CgroupPath path;
  CpuMax cpu_max;
  CpuSet cpuset;                  ///< v2: effective
  std::optional<Bytes> memory{};  ///< charged to it now, page cache included; nullopt: unknown
};

/// How this node's kubelet (pods) and runtime (containers) make cpu.weight from shares.
struct WeightRules {
  WeightRule pods = WeightRule::kLinear;
  WeightRule containers = WeightRule::kLinear;
  friend bool operator==(const WeightRules&, const WeightRules&) = default;
};

/// Built once a tick; every plugin sees the same one.
struct Snapshot {
  MonoTime now;
  CgroupVersion cgroup_version = CgroupVersion::kV1;
  bool has_bvt = false;                    ///< cpu.bvt_warp_ns exists (vendor kernels)
  std::shared_ptr<const NodeState> state;  ///< never nullptr; may be empty inside
  std::optional<NodeSignals> signals;      ///< nullopt before the second sample
  std::map<std::string, PodUsage> pods;    ///< by uid
  std::vector<LsSignal> ls_signals;        ///< of the latency-sensitive pods that have one
  std::optional<BeRoot> be_root;           ///< nullopt when the BE root does not exist (yet)
  CpuTopology topology;                    ///< empty = unknown
  bool may_relax = true;                   ///< false for event ticks: they only tighten

  /// Read only while a plugin needs them; nullptr: not read, or none here.
  std::shared_ptr<const StorageTable> storage;
  std::shared_ptr<const ResctrlState> resctrl;
  std::shared_ptr<const KubeletCpus> kubelet_cpus;
  std::shared_ptr<const NodeCpuPools> cpu_pools;
  /// By "<runtime>://<id>"; borrowed for as long as the snapshot is used; nullptr: none.
  const std::map<std::string, ContainerUsage>* containers = nullptr;
  std::chrono::seconds usage_valid{150};  ///< older samples of pods and containers say nothing
  bool has_cpu_burst = false;             ///< the kernel has the file (5.14)
  bool has_memory_min = false;            ///< memory.min, .low, .high exist: v2, or a vendor's v1
  bool has_memory_vendor = false;         ///< memory.wmark_*, memory.priority (vendor kernels)
  /// Page cache that memory.min keeps, as the last step reckoned it; nullopt: unknown.
  std::optional<Bytes> protected_cache{};
  bool has_memory_reclaim = false;    ///< memory.reclaim exists (v2, 5.19)
  WeightRules weight_rules{};         ///< v2; linear until another one was seen
  bool has_page_cache_limit = false;  ///< memory.pagecache_limit.* (vendor kernels, v2)
};

}  // namespace koordlet
