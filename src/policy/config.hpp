#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "model/node_slo.hpp"
#include "policy/config_burst.hpp"
#include "policy/config_hooks.hpp"
#include "policy/config_idle.hpp"
#include "policy/config_levers.hpp"
#include "policy/config_memory.hpp"
#include "policy/evict_config.hpp"

namespace koordlet::policy {

/// Engine B, pod level (TOML [qos.pressure]; NodeSLO extension qosPressure; reference
/// qos-plugins 12.2). Thresholds are percent of the node's CPU capacity.
struct PressureConfig {
  bool enable = true;
  int mid_percent = 65;
  int high_percent = 80;
  int exit_margin_percent = 5;      ///< a level is left below enter - margin
  int factor_none_permille = 1000;  ///< pod quota = request x factor
  int factor_mid_permille = 700;
  int factor_high_permille = 300;
  int relax_hold_samples = 2;     ///< samples below the exit before a level is left
  int relax_step_permille = 100;  ///< most that the factor rises in one evaluation
  bool relax_guard = true;        ///< a step that is predicted to reach the next level is not taken
  bool hold_doubling =
      true;  ///< relax, then escalate within 3 s: back to the last good factor, hold doubles
  int min_hold_seconds = 10;
  int max_hold_seconds = 600;
  // What latency-sensitive pods feel may raise the level (design section 4).
  bool raise_by_psi = true;           ///< by the CPU stalls of their own cgroups
  bool raise_by_interference = true;  ///< by the interference that best effort causes
  int psi_mid_percent = 5;            ///< "full" stall that raises to MID
  int psi_high_percent = 15;
  int degree_mid = 30;  ///< interference by best effort, of 100, that raises to MID
  int degree_high = 60;
  int raise_min_be_percent = 5;  ///< of the node's CPU: below it best effort is not the cause
  int min_quota_us = 1000;       ///< kernel minimum (sched-bwc)
  int default_request_milli =
      0;  ///< request assumed for a BE pod without any; 0: it shares the BE-root cap
  friend bool operator==(const PressureConfig&, const PressureConfig&) = default;
};

/// Engine A, class level (TOML [qos.suppress]; NodeSLO resourceUsedThresholdWithBE; reference
/// section 2).
struct SuppressConfig {
  bool enable = false;
  int threshold_percent = 65;
  std::optional<int> min_percent;
  SuppressPolicy policy = SuppressPolicy::kCpuset;
  friend bool operator==(const SuppressConfig&, const SuppressConfig&) = default;
};

/// Best effort that gets next to nothing (TOML [qos.starvation]).
struct StarvationConfig {
  bool enable = true;
  int percent = 5;         ///< of its request: a BE pod that wants more and gets less is hungry
  int seconds = 60;        ///< hungry that long: it starves
  int floor_percent = 10;  ///< of the request of the starving: what caps leave them
  friend bool operator==(const StarvationConfig&, const StarvationConfig&) = default;
};

/// TOML [qos] as loaded, before NodeSLO.
struct QosConfig {
  bool pressure_profile = true;       ///< profile = "pressure" | "koordinator"
  bool local_without_nodeslo = true;  ///< without_nodeslo = "local" | "off"
  int node_stale_seconds = 3;         ///< node signals older than this: hold
  int pods_stale_intervals_tenths = 25;
  PressureConfig pressure;
  SuppressConfig suppress;
  IdleBufferConfig idle_buffer;
  StarvationConfig starvation;
  IdentityConfig identity;
  EvictConfig evict;
  MemoryEvictConfig memory_evict;
  ResctrlConfig resctrl;
  BlkIoToml blkio;
  SystemToml system;
  BurstConfig burst;
  MemoryQosConfig memory_qos;
  MemorySoftenConfig memory_soften;
  CpuEvictConfig cpu_evict;
  BeCpuEvictConfig be_cpu_evict;
  AllocatableEvictConfig cpu_allocatable_evict, memory_allocatable_evict;
  HookSwitches hooks;
  /// Where the annotation koordinator.sh/qos-hands-off: "true" is obeyed.
  std::vector<std::string> hands_off_namespaces;
};

/// What holds now, after the precedence NodeSLO field present > TOML > built-in.
struct EffectiveConfig {
  bool off =
      false;  ///< raw enable=false, or no NodeSLO and without_nodeslo = "off": nothing is proposed
  PressureConfig pressure;
  SuppressConfig suppress;
  IdleBufferConfig idle_buffer;
  StarvationConfig starvation;
  IdentityConfig identity;
  EvictConfig evict;
  MemoryEvictConfig memory_evict;
  CpuEvictConfig cpu_evict;
  BeCpuEvictConfig be_cpu_evict;
  AllocatableEvictConfig cpu_allocatable_evict, memory_allocatable_evict;
  /// The next three hold by their own NodeSLO sections also while `off`.
  ResctrlConfig resctrl;
  BlkIoConfig blkio;
  SystemStrategy system;
  BurstConfig burst;
  MemoryQosConfig memory_qos;
  MemorySoftenConfig memory_soften;
  HookSwitches hooks;  ///< also while `off`: what a pod asked for is no suppression
  std::vector<std::string> hands_off_namespaces;
  int node_stale_seconds = 3;
  std::vector<std::string>
      faults;  ///< NodeSLO values refused, one line each; the last good value holds
  friend bool operator==(const EffectiveConfig&, const EffectiveConfig&) = default;
};

/// Suppress policy cfsQuota: the BE root is limited, so BE pods and containers need no quota.
bool be_root_limited(const EffectiveConfig& config);

/// All faults at once as "path: value: expected".
std::vector<std::string> validate(const QosConfig& config);

/// `slo` nullptr: no NodeSLO. `last_good` supplies the value of a field that is refused now.
EffectiveConfig resolve(const QosConfig& toml,
                        const NodeSlo* slo,
                        const EffectiveConfig* last_good);

}  // namespace koordlet::policy
