#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/slo_blkio.hpp"
#include "model/slo_burst.hpp"
#include "model/slo_cpu.hpp"
#include "model/slo_evict.hpp"
#include "model/slo_memory.hpp"
#include "model/slo_resctrl.hpp"
#include "model/slo_system.hpp"

namespace koordlet {

enum class SuppressPolicy { kCpuset, kCfsQuota, kPodQuota };

/// spec.resourceUsedThresholdWithBE exactly as the CR states it: absent fields stay absent, so that
/// precedence (NodeSLO field present > TOML > built-in) can be decided later.
struct ThresholdStrategy {
  std::optional<bool> enable;
  std::optional<int> cpu_suppress_threshold_percent;  ///< 0..100
  std::optional<int> cpu_suppress_min_percent;        ///< 0..100
  std::optional<SuppressPolicy> cpu_suppress_policy;
  std::optional<int> memory_evict_threshold_percent;  ///< 0..100
  std::optional<int> memory_evict_lower_percent;      ///< 0..100
  EvictThresholds evict;
  friend bool operator==(const ThresholdStrategy&, const ThresholdStrategy&) = default;
};

/// spec.extensions.Object.qosPressure (or spec.extensions.qosPressure; the first wins): koordlet's
/// own rule.
struct PressureStrategy {
  std::optional<bool> enable;
  std::optional<int> mid_percent;
  std::optional<int> high_percent;
  std::optional<int> exit_margin_percent;
  std::optional<int> factor_none_permille;
  std::optional<int> factor_mid_permille;
  std::optional<int> factor_high_permille;
  std::optional<int> relax_hold_samples;
  std::optional<int> relax_step_permille;
  std::optional<bool> relax_guard;
  std::optional<bool> raise_by_psi;
  std::optional<bool> raise_by_interference;
  std::optional<int> psi_mid_percent;
  std::optional<int> psi_high_percent;
  std::optional<int> degree_mid;
  std::optional<int> degree_high;
  std::optional<int> raise_min_be_percent;
  std::optional<int> min_quota_us;
  std::optional<int> default_request_milli;
  std::optional<int> burst_gate_percent{};
  friend bool operator==(const PressureStrategy&, const PressureStrategy&) = default;
};

struct HostApplication {
  std::string name;
  std::string qos;   ///< "LSE", "LSR", "LS", "BE" or ""
  std::string base;  ///< cgroupPath.base: "CgroupRoot", "Kubepods", "KubepodsBurstable",
                     ///< "KubepodsBesteffort", "" = none
  std::string parent_dir;
  std::string relative_path;
  std::string priority{};  ///< as stated, for reports only
  friend bool operator==(const HostApplication&, const HostApplication&) = default;
};

/// What the node's NodeSLO object says, raw. No object at all is `nullptr` in NodeState, which is
/// not the same as an empty one.
struct NodeSlo {
  std::optional<ThresholdStrategy> threshold;  ///< absent section = nullopt
  std::optional<PressureStrategy> pressure;
  std::vector<HostApplication> host_applications;
  ResctrlStrategy resctrl;
  CpuQosStrategy cpu_qos;
  BlkIoStrategy blkio;
  SystemStrategy system;
  std::optional<CpuBurstStrategy> burst{};
  MemoryQosClasses memory_qos{};
  friend bool operator==(const NodeSlo&, const NodeSlo&) = default;
};

}  // namespace koordlet
