#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/cgroup.hpp"
#include "base/units.hpp"
#include "model/node_slo.hpp"
#include "model/pod.hpp"
#include "policy/pressure.hpp"
#include "sim/demand.hpp"
#include "sim/disk.hpp"
#include "sim/latency.hpp"

/// What a simulation is made of. Plain values; app/scenario_file reads them from TOML and refuses
/// what is out of range, so that everything below may rely on the stated ranges.
namespace koordlet::sim {

struct NodeSpec {
  int cpus = 8;  ///< 1..4096
  Bytes memory{16ll << 30};
  CgroupVersion cgroup = CgroupVersion::kV2;
  double system_cpu = 0;  ///< cores of everything outside kubepods
  Bytes system_memory{0};
  Bytes swap{0};  ///< where memory.high and memory.reclaim put what they take
  /// cpu.shares of the BE root before koordlet (kubelet writes 2); on v2 as the weight they become.
  std::int64_t be_root_shares = 2;
};

/// Memory of one pod: start, and so much more each second, up to its limit.
struct MemoryUse {
  Bytes start{0};
  Bytes growth_per_second{0};
  Bytes limit{0};  ///< 0: none
};

/// What one pod asks of a disk while it lives.
struct IoUse {
  std::size_t disk = 0;  ///< index into Scenario::disks
  IoLoad load;
  double read_p99_ms = 1;  ///< of its reads on the idle disk
};

/// `count` pods alike.
struct PodGroup {
  std::string name;              ///< [a-z0-9-]{1,40}, unique
  QosClass qos = QosClass::kLs;  ///< LSR, LS or BE
  int count = 1;
  std::optional<MilliCpu> request;  ///< a pod; BE: batch-cpu. Without one, BE shares the root's cap
  std::optional<MilliCpu> limit;    ///< a pod; its first quota in the tree
  Demand demand;
  LatencyModel latency;
  MemoryUse memory;
  std::optional<IoUse> io;
};

/// From a moment on, something is different.
struct Event {
  milliseconds at{0};
  std::string group;                       ///< with count or leak
  std::optional<int> count;                ///< pods it has from now on; the last ones leave
  std::optional<Bytes> growth_per_second;  ///< memory of its pods
  std::optional<bool> api;                 ///< the API server answers, or not
};

/// What has to hold at one moment: the step that ends then, and the decision taken at its end. Not
/// set: not looked at. Cores, percent and milliseconds are met within 0.01.
struct Expectation {
  milliseconds at{0};
  std::optional<policy::Level> level;
  std::optional<int> below_exit, factor_permille;
  std::optional<double> use_percent, ls_used, be_used, be_cap, ls_p99_ms, be_slowdown_percent;
  std::optional<double> ls_read_p99_ms, be_disk_mib, disk_busy_percent;
};

/// What has to hold over the whole run, from `from` on. Not set: not looked at.
struct Limits {
  milliseconds from{0};
  std::optional<double> max_flips_per_hour, max_cuts_per_hour, max_percent_over_high;
  std::optional<double> max_ls_p99_ms, min_mean_use_percent, max_mean_use_percent;
  std::optional<double> min_mean_be_used, max_memory_percent;
  std::optional<double> max_ls_read_p99_ms, max_held_ls_read_p99_ms, min_held_be_disk_mib;
  std::optional<milliseconds> max_step_to_cap, max_disk_step_to_cap;
  std::optional<int> evictions, max_refused_writes;
};

/// Somebody's figures for one moment, printed beside the simulated ones. They never fail a run.
struct Claims {
  milliseconds at{0};
  std::string by = "claimed";
  std::optional<double> ls_p99_ms, be_slowdown_percent, use_percent;
};

/// The NodeSLO object of the node, as the API server gives it from a moment on.
struct TimedSlo {
  milliseconds from{0};
  NodeSlo slo;
};

struct Scenario {
  std::string about;
  NodeSpec node;
  std::vector<DiskSpec> disks;  ///< names and numbers unique
  std::optional<TimedSlo> node_slo;
  milliseconds duration{0};
  milliseconds sample_interval{1000};  ///< between two node samples; a multiple of the tick
  milliseconds koordlet_from{0};       ///< it starts then, with its first reading
  milliseconds table_every{0};         ///< 0: so that about 40 rows come
  milliseconds evict_grace{10'000};    ///< an evicted pod is gone so much later
  std::vector<PodGroup> groups;
  std::vector<Event> events;  ///< by time
  std::vector<Expectation> expectations;
  Limits limits;
  std::optional<Claims> claims;
};

}  // namespace koordlet::sim
