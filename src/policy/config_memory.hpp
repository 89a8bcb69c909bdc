#pragma once

#include <optional>

#include "base/units.hpp"
#include "model/slo_memory.hpp"

namespace koordlet::policy {

/// Percents of one class as TOML states them; not set: built-in where there is no NodeSLO, else
/// untouched.
struct MemoryShare {
  std::optional<int> min_percent, low_percent, throttling_percent;
  friend bool operator==(const MemoryShare&, const MemoryShare&) = default;
};

/// What holds for the pods of one class. Only fields that are set are written.
struct MemoryClass {
  bool enable = false;
  MemoryQosStrategy values;
  friend bool operator==(const MemoryClass&, const MemoryClass&) = default;
};

/// Memory QoS (TOML [qos.memory_qos]; NodeSLO resourceQOSStrategy.<class>.memoryQOS; reference 7,
/// design section 4 "Memory").
struct MemoryQosConfig {
  std::optional<bool> enable;  ///< not set: on without a NodeSLO object in profile pressure
  MemoryShare lsr_share, ls_share, be_share;
  int min_bound_percent = 50;  ///< of MemTotal: most of the sum of memory.min, the rest is low
  bool annotations = true;     ///< obey koordinator.sh/memoryQOS, within the values of the class
  MemoryClass lsr, ls, be, system;  ///< set by resolve()
  bool any() const { return lsr.enable || ls.enable || be.enable || system.enable; }
  friend bool operator==(const MemoryQosConfig&, const MemoryQosConfig&) = default;
};

/// Built-in values of a class (design section 4). A protection of 0 is the kernel's own default and
/// stays unset, so that such files are not held.
MemoryQosStrategy built_in_lsr();  ///< min 100, low 100
MemoryQosStrategy built_in_ls();   ///< low 50
MemoryQosStrategy built_in_be();   ///< throttling 80

/// memory.high of the BE root before anything is evicted (TOML [qos.memory_soften]; design section
/// 4 "softening first"). Points are percent points of MemTotal against the threshold of
/// memory_evict.
struct MemorySoftenConfig {
  std::optional<bool> enable;  ///< not set: as memory_evict; always set in EffectiveConfig
  int start_points = 5;        ///< under the threshold
  int lift_points = 7;         ///< under the threshold; more than start_points
  int step_percent = 5;        ///< most of the BE use that one step takes
  int step_seconds = 2;
  int patience_seconds = 5;               ///< over the threshold, before eviction may act
  int over_points = 5;                    ///< so far over the threshold eviction may act at once
  Bytes reclaim{std::int64_t{64} << 20};  ///< most that one memory.reclaim takes; 0: none
  friend bool operator==(const MemorySoftenConfig&, const MemorySoftenConfig&) = default;
};

}  // namespace koordlet::policy
