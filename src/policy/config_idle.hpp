#pragma once

#include <cstdint>

namespace koordlet::policy {

/// What bounds BE so that CPUs stay idle.
enum class IdleBufferBy {
  kSuppress,  ///< as the suppress rule while that is on, else quota
  kQuota,     ///< cpu.max of the BE root
  kCpuset,    ///< cpuset.cpus of the BE class
};

/// Idle CPUs kept for latency-sensitive pods (TOML [qos.idle_buffer]; design section 4, third
/// engine). A thread pool that wakes finds a free CPU without waiting for any decision of ours.
struct IdleBufferConfig {
  int cores = 0;       ///< logical CPUs that stay idle; 0: off
  int hysteresis = 1;  ///< more idle CPUs than cores + hysteresis: BE gets one back
  IdleBufferBy by = IdleBufferBy::kSuppress;
  friend bool operator==(const IdleBufferConfig&, const IdleBufferConfig&) = default;
};

}  // namespace koordlet::policy
