#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/units.hpp"

namespace koordlet {

/// What the end of a pod gives back.
enum class EvictResource {
  kMemoryUsed,   ///< bytes, without page cache
  kCpuUsed,      ///< milli-cores
  kBatchCpu,     ///< requests, milli-cores: kubernetes.io/batch-cpu
  kMidCpu,       ///< kubernetes.io/mid-cpu
  kCpu,          ///< cpu
  kBatchMemory,  ///< requests, bytes
  kMidMemory,
  kMemory,
};
inline constexpr int kEvictResources = 8;
/// "memory-used", "cpu-used", "batch-cpu", "mid-cpu", "cpu", "batch-memory", "mid-memory", "memory"
std::string_view to_string(EvictResource r);
/// Bytes or milli-cores.
bool is_memory(EvictResource r);

/// An amount of each resource, in its unit, never below 0. 0: none of it.
class EvictAmounts {
 public:
  std::int64_t& operator[](EvictResource r) { return v_[static_cast<std::size_t>(r)]; }
  std::int64_t operator[](EvictResource r) const { return v_[static_cast<std::size_t>(r)]; }
  bool none() const;
  /// Sums stop at the end of the range instead of passing it.
  EvictAmounts& operator+=(const EvictAmounts& other);
  friend bool operator==(const EvictAmounts&, const EvictAmounts&) = default;

 private:
  std::array<std::int64_t, kEvictResources> v_{};
};
inline constexpr std::array kAllEvictResources{EvictResource::kMemoryUsed,
                                               EvictResource::kCpuUsed,
                                               EvictResource::kBatchCpu,
                                               EvictResource::kMidCpu,
                                               EvictResource::kCpu,
                                               EvictResource::kBatchMemory,
                                               EvictResource::kMidMemory,
                                               EvictResource::kMemory};

/// One pod that a plugin wants gone. It is a wish for this moment only: the next tick repeats it or
/// drops it.
struct EvictionWish {
  std::string uid;
  std::string ns;
  std::string name;
  std::string reason;        ///< one line with the numbers, for events and status
  std::string plugin;        ///< "be_memory_evict", ...
  EvictAmounts frees;        ///< what its end is expected to free, of all that is known
  EvictResource resource{};  ///< for which it was chosen; that amount is above 0
  MonoTime since;            ///< when the need for it arose
  std::string owner;         ///< whose pod it is, as limits count: "ReplicaSet jobs/sort-7d9"
  Bytes node_used;           ///< memory in use on the node when it was chosen; 0: unknown
  friend bool operator==(const EvictionWish&, const EvictionWish&) = default;
};

enum class EvictionResult {
  kAccepted,     ///< the API server took it: the pod is on its way out
  kRefused,      ///< a disruption budget forbids it now
  kGone,         ///< there is no such pod any more
  kNotSame,      ///< another pod has that name by now
  kForbidden,    ///< no rights (RBAC, admission)
  kFailed,       ///< the server could not, or answered what nobody understands
  kUnreachable,  ///< no answer; it may have been taken all the same
  kDropped,      ///< the pod had left before anything was sent
  kDryRun,       ///< would have been sent
};
inline constexpr int kEvictionResults = 9;
/// "accepted", "refused", "gone", "not-same", "forbidden", "failed", "unreachable", "dropped",
/// "dry-run"
std::string_view to_string(EvictionResult r);

/// What became of one wish.
struct EvictionOutcome {
  EvictionWish wish;
  EvictionResult result = EvictionResult::kFailed;
  std::string detail;  ///< the server's words, printable; "" when accepted
  MonoTime at;         ///< when the answer was there
  std::optional<std::chrono::seconds> retry_after;  ///< the server asked for that much time
  friend bool operator==(const EvictionOutcome&, const EvictionOutcome&) = default;
};

}  // namespace koordlet
