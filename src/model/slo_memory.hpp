#pragma once

#include <optional>

#include "base/units.hpp"

namespace koordlet {

/// memoryQOS of one class, or the fields of a pod's annotation, as stated: absent fields stay
/// absent, and their files are not touched. Numbers are within their ranges.
struct MemoryQosStrategy {
  std::optional<bool> enable;
  std::optional<int> min_percent;         ///< 0..100, of the request
  std::optional<int> low_percent;         ///< 0..100, of the request
  std::optional<int> throttling_percent;  ///< 0..100, of the way from request to limit; 0 no bound
  // Files of vendor kernels.
  std::optional<int> wmark_ratio;          ///< 0..100
  std::optional<int> wmark_scale_permill;  ///< 1..1000
  std::optional<int> wmark_min_adj;        ///< -25..50
  std::optional<int> priority_enable;      ///< 0..1
  std::optional<int> priority;             ///< 0..12
  std::optional<int> oom_kill_group;       ///< 0..1
  std::optional<bool> page_cache_enable;
  std::optional<int> page_cache_limit_percent;  ///< 0..100, of the pod's limit
  std::optional<Bytes> page_cache_limit_size;   ///< wins over the percent
  std::optional<bool> page_cache_reclaim_sync;
  friend bool operator==(const MemoryQosStrategy&, const MemoryQosStrategy&) = default;
};

/// spec.resourceQOSStrategy.<class>.memoryQOS; nullopt: the class or its section is absent.
struct MemoryQosClasses {
  std::optional<MemoryQosStrategy> lsr;  ///< LSE pods too
  std::optional<MemoryQosStrategy> ls;
  std::optional<MemoryQosStrategy> be;
  std::optional<MemoryQosStrategy> system;  ///< pods with the label SYSTEM
  std::optional<MemoryQosStrategy> root;    ///< cgroupRoot: read, but no rule of ours uses it
  friend bool operator==(const MemoryQosClasses&, const MemoryQosClasses&) = default;
};

enum class PodMemoryPolicy {
  kDefault,  ///< the values of the class
  kAuto,     ///< the built-in values of the class
  kNone,     ///< no protection
};

/// Annotation koordinator.sh/memoryQOS.
struct PodMemoryQos {
  PodMemoryPolicy policy = PodMemoryPolicy::kDefault;
  MemoryQosStrategy fields;
  friend bool operator==(const PodMemoryQos&, const PodMemoryQos&) = default;
};

}  // namespace koordlet
