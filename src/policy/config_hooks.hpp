#pragma once

namespace koordlet::policy {

/// TOML [hooks], but for the connection to the runtime. On by default is what the original has on
/// (hooks reference 1), and memory QoS, which its own configuration switches. A switch holds for
/// the start of a container and, with `reconcile`, for what the tick keeps.
struct HookSwitches {
  bool batch_resources = true;
  bool cpu_normalization = false;
  bool cpuset = true;
  bool memory_qos = true;
  bool cpu_idle = false;
  bool oom_score_adj = false;
  bool resctrl = false;
  bool gpu = false;
  bool rdma = false;
  bool group_identity = true;  ///< a tick as soon as a pod starts
  bool core_sched = false;     ///< and as soon as a container of it runs
  /// A container with CPUs of its own keeps the quota of its limit (pitfall 140).
  bool cpuset_keeps_quota = false;
  /// The tick keeps batch resources, normalized quotas and CPU sets of pods and containers.
  bool reconcile = true;
  friend bool operator==(const HookSwitches&, const HookSwitches&) = default;
};

}  // namespace koordlet::policy
