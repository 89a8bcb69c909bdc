#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/units.hpp"

namespace koordlet {

/// Share of a window in which tasks were stalled, in percent, from the difference of PSI totals.
struct StallShare {
  double some_percent = 0;
  std::optional<double> full_percent;  ///< nullopt: this kernel has no such line
  friend bool operator==(const StallShare&, const StallShare&) = default;
};

/// PSI of one subject. nullopt: not offered for it, or no two readings yet.
struct Stalls {
  std::optional<StallShare> cpu, memory, io;
};

/// Block IO a second, all devices together.
struct IoRate {
  std::int64_t read_bytes = 0, write_bytes = 0;
  std::int64_t reads = 0, writes = 0;
  friend bool operator==(const IoRate&, const IoRate&) = default;
};

/// Where the counters of a pod or container were read.
enum class CounterSource {
  kNone,      ///< nowhere: no sample
  kIterator,  ///< BPF pass over all cgroups (CPU, throttling, PSI), memory and IO from files
  kFiles,     ///< kept-open cgroup files
  kCri,       ///< ListContainerStats of the runtime: CPU and memory only
  kDocker,    ///< Docker's stats: CPU and memory only
};
std::string_view to_string(CounterSource s);  ///< "none", "iterator", "files", "cri", "docker"

/// Last full sample of a pod or of a container. nullopt: unknown, never zero.
struct WorkloadUsage {
  MonoTime at;
  std::optional<MilliCpu> cpu;
  std::optional<Bytes> memory;        ///< without page cache
  std::optional<Permille> throttled;  ///< nr_throttled / nr_periods of the interval
  CounterSource source = CounterSource::kNone;
  std::optional<Bytes> memory_with_cache;
  std::optional<Bytes> working_set;  ///< as kubelet counts: use less inactive file pages
  std::optional<IoRate> io;
  Stalls stalls;
};
using PodUsage = WorkloadUsage;
using ContainerUsage = WorkloadUsage;

/// One whole disk.
struct DiskUsage {
  std::string name;
  IoRate rate;
  Permille busy;                                   ///< share of the time with a request under way
  std::optional<std::chrono::microseconds> await;  ///< mean time of a request; nullopt: none ended
};

struct NetworkUsage {
  std::string name;
  std::int64_t rx_bytes = 0, tx_bytes = 0;  ///< a second
  std::int64_t rx_packets = 0, tx_packets = 0;
  std::int64_t dropped = 0, errors = 0;
};

/// Bytes and CPU of one NUMA node.
struct NumaUsage {
  int node = 0;
  std::optional<MilliCpu> cpu;
  std::optional<Bytes> memory;  ///< without reclaimable cache
};

/// Last-level cache and memory bandwidth of one resctrl group in one cache domain.
struct CacheUsage {
  std::string group;  ///< "" the root group
  int cache_id = 0;
  std::optional<std::int64_t> occupancy_bytes;
  std::optional<std::int64_t> total_bytes_per_second, local_bytes_per_second;
};

/// What the node uses beside CPU and memory.
struct NodeUsage {
  MonoTime at;
  Stalls stalls;
  std::optional<Permille> steal;  ///< share of all CPU time that the hypervisor took
  std::vector<DiskUsage> disks;
  std::vector<NetworkUsage> networks;
  std::vector<NumaUsage> numa;
  std::vector<CacheUsage> caches;
  std::optional<Bytes> cold_memory;
};

}  // namespace koordlet
