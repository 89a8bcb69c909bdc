#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/cgroup.hpp"
#include "base/units.hpp"
#include "model/snapshot.hpp"

/// What several plugins read out of a snapshot in the same way.
namespace koordlet::policy {

/// Products of capacities, percents and permilles are taken in 128 bits: no value overflows.
using Wide = __int128;

/// Period of every quota that a plugin proposes.
inline constexpr std::chrono::microseconds kQuotaPeriod{100'000};
/// Largest quota the kernel takes (kernel/sched: MAX_BW, 2^44 - 1 us).
inline constexpr std::int64_t kMaxQuotaUs = (std::int64_t{1} << 44) - 1;
/// Smallest quota of the BE root: two kernel minimums, so that children still fit below it.
inline constexpr std::int64_t kMinRootQuotaUs = 2000;

/// `quota_us` each kQuotaPeriod, limited to what the kernel takes.
CpuMax cpu_max(std::int64_t quota_us);
/// Microseconds of quota each kQuotaPeriod that `cpu` means (1000 m = 100000 us).
std::int64_t quota_us_of(MilliCpu cpu);
/// percent/100 of `whole`, truncated.
MilliCpu percent_of(MilliCpu whole, int percent);
/// True when used >= percent of capacity, exactly.
bool at_least_percent(MilliCpu used, int percent, MilliCpu capacity);

/// nullopt while the node is unknown: nothing is decided then, what holds keeps holding.
std::optional<MilliCpu> capacity_of(const Snapshot& snap);
/// The signals when they are young enough to decide on; nullptr: hold. Points into `snap`.
const NodeSignals* fresh_signals(const Snapshot& snap, int stale_seconds);

/// MemTotal - available, where available = MemAvailable - page cache that memory.min keeps: cache
/// that reclaim may not take is as good as used. At most MemTotal; nullopt: unknown.
std::optional<Bytes> memory_in_use(const Snapshot& snap);

/// CPU use that BE has to leave alone.
struct NonBeUse {
  MilliCpu ls;      ///< pods that are not BE, and host applications
  MilliCpu system;  ///< the rest of the machine, at least what the node reserves
};
/// nullopt when the use of all pods or of the BE root is unknown. BE use comes from the BE root's
/// own counter, so a BE pod without a sample of its own is never booked as system use.
std::optional<NonBeUse> non_be_use(const NodeSignals& signals, MilliCpu reserved);

/// True: hands of the CPU rules are kept off a best-effort pod, because its label says that it is
/// not BE, or by its annotation (policy/hands_off.hpp).
bool is_be_stranger(const Pod& pod, const std::vector<std::string>& hands_off_namespaces);
/// CPU request that a BE pod's cap goes by: its own, else `default_request_milli`; nullopt: none.
std::optional<MilliCpu> capped_request(const Pod& pod, int default_request_milli);

/// The active pods by the way their CPU is bounded. Pointers live as long as the snapshot's state.
struct BePods {
  struct Capped {
    const Pod* pod;
    MilliCpu request;  ///< above 0
    bool below_root;
  };
  std::vector<Capped> capped;        ///< BE with a request, own or assumed
  std::vector<const Pod*> uncapped;  ///< BE without any request
  bool uncapped_below_root = false;
  /// A pod that lives below the BE root although its label says that it is not BE, or hands are
  /// kept off it: the sum of the BE pods' caps has no room for it.
  bool stranger_below_root = false;
};
/// A pod below the root that hands are kept off counts as a stranger there (policy/hands_off.hpp).
BePods be_pods(const Snapshot& snap,
               int default_request_milli,
               const std::vector<std::string>& hands_off_namespaces = {});

}  // namespace koordlet::policy
