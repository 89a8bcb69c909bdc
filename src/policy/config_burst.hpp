#pragma once

#include <optional>

#include "model/slo_burst.hpp"

namespace koordlet::policy {

/// CPU burst (TOML [qos.burst]; NodeSLO cpuBurstStrategy and qosPressure.burstGatePercent;
/// reference qos-plugins 6 and 12.2). What is not set in TOML is decided by resolve(): in an
/// EffectiveConfig enable and burst_percent are always set.
struct BurstConfig {
  std::optional<bool> enable;  ///< not set: on without a NodeSLO object in profile pressure
  BurstPolicy policy = BurstPolicy::kAuto;
  std::optional<int> burst_percent;  ///< of the limit; not set: 50, profile koordinator 1000
  int quota_percent = 300;           ///< most that a quota grows to, of the limit
  int period_seconds = -1;           ///< time that the largest boost may last; -1: no budget
  int pool_percent = 50;             ///< use of the share pool at which boosts are taken back
  /// Node use at which bursting stops; not set: 60, profile koordinator none. EffectiveConfig: not
  /// set is none.
  std::optional<int> gate_percent;
  bool gate_static = true;   ///< the gate closes static burst too
  int shrink_seconds = 300;  ///< so long idle and not throttled: a boost shrinks
  bool annotations = true;   ///< obey koordinator.sh/cpuBurst, within the next two
  int annotation_max_burst_percent = 100;
  int annotation_max_quota_percent = 300;
  friend bool operator==(const BurstConfig&, const BurstConfig&) = default;
};

inline constexpr int kStandAloneBurstPercent = 50;  // reference 12.2
inline constexpr int kKoordinatorBurstPercent = 1000;
inline constexpr int kBurstGatePercent = 60;

}  // namespace koordlet::policy
