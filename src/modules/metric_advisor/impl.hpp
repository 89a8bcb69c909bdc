#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/resctrl_monitor.hpp"
#include "kernel/storage.hpp"
#include "model/usage.hpp"
#include "modules/metric_advisor/metric_advisor.hpp"
#include "modules/metric_advisor/rate.hpp"
#include "modules/metric_advisor/workload_reader.hpp"
#include "runtime/cri_client.hpp"
#include "runtime/docker_client.hpp"

namespace koordlet {

/// Node and classes are in node_sample.cpp, disks, networks and PSI in node_usage.cpp, what changes
/// slowly in slow_sources.cpp, the fast poll in fast_poll.cpp, pods and containers in pod_pass.cpp
/// (asking the runtime in runtime_usage.cpp), host applications in host_usage.cpp.
struct MetricAdvisor::Impl {
  Config config;
  kernel::HostRoots roots;
  CgroupVersion version;
  const Clock& clock;
  kernel::ProcFs proc;
  WorkloadReader workloads;
  kernel::CgroupCounters& counters;  ///< of `workloads`
  MilliCpu ceiling;                  ///< 1.1 x online CPUs

  CpuRate node_cpu;
  std::optional<BeRoot> be_root;         ///< as the daemon read it last
  std::optional<Bytes> node_cache_used;  ///< MemTotal - MemFree of the last reading
  /// Of the last reading of the classes; collect_pods() needs the layout as well.
  std::optional<kernel::CgroupLayout> layout;
  struct AppCpu {
    std::string name;
    MilliCpu used;
  };
  std::vector<AppCpu> app_cpu;
  MilliCpu apps_outside_pods;  ///< what the kubepods counter does not hold
  std::map<CgroupPath, CpuRate>
      classes;                   ///< kubepods, BE root, BE pods outside it, host applications
  std::set<CgroupPath> touched;  ///< class cgroups read in this pass; the rest is forgotten
  struct FastReading {
    MonoTime at;
    std::chrono::nanoseconds kubepods, be;
  };
  std::deque<FastReading> fast;
  std::uint64_t seq = 0;
  std::optional<NodeSignals> signals;

  std::map<std::string, PodUsage> pods;              ///< by uid
  std::map<std::string, ContainerUsage> containers;  ///< by "containerd://<id>"
  std::map<std::string, CpuRate> runtime_cpu;        ///< of containers that the runtime counts
  std::vector<std::string> unread;  ///< running containers whose cgroup gave nothing in this pass
  NodeUsage node_usage;
  StallRate cpu_stall, memory_stall, io_stall;
  std::map<std::string, kernel::DiskCounters> disk_base;
  std::map<std::string, kernel::NetCounters> net_base;
  std::optional<MonoTime> disks_at, nets_at, caches_at;
  std::optional<std::pair<MonoTime, std::uint64_t>> steal_base;
  std::map<std::pair<std::string, int>, kernel::ResctrlCache> cache_base, cache_before;
  std::map<int, std::uint64_t> cpu_base;  ///< used ticks of each CPU
  std::optional<MonoTime> cpu_base_at;
  std::map<int, int> numa_of_cpu;
  std::optional<kernel::StorageInfo> storage;
  unsigned slow_passes = 0;
  /// Memory of all pods in the pass that runs; nullopt: one of them could not be read.
  std::optional<Bytes> pass_memory;
  std::vector<store::MetricSample> samples;
  std::map<std::string, SourceHealth> health;
  std::chrono::microseconds last_collect{0};
  std::unique_ptr<runtime::CriClient> cri;        ///< nullptr: not asked
  std::unique_ptr<runtime::DockerClient> docker;  ///< nullptr: not asked

  Impl(Config c, kernel::HostRoots r, CgroupVersion v, const Clock& k, std::size_t budget)
      : config{c},
        roots{r},
        version{v},
        clock{k},
        proc{r},
        workloads{std::move(r), v, k, budget},
        counters{workloads.counters()} {
    const auto cpus = kernel::read_topology(roots);
    // Without a topology nothing can be said to be too much.
    ceiling = cpus && !cpus->empty() ? MilliCpu{static_cast<std::int64_t>(cpus->size()) * 1100}
                                     : MilliCpu{std::int64_t{CpuSet::kMaxCpus} * 1000};
    workloads.set_ceiling(ceiling);
    if (!cpus) return;
    for (const auto& c : *cpus) numa_of_cpu[c.cpu] = c.numa;
  }

  void ok(const std::string& source) {
    auto& h = health[source];
    h.name = source;
    h.fault.clear();
    h.unsupported = false;
    h.last_ok = clock.now();
  }
  /// kNotSupported: this machine does not offer it, and nothing failed.
  void fault(const std::string& source, const Error& e) {
    auto& h = health[source];
    h.name = source;
    h.fault = e.context;
    h.unsupported = e.code == Errc::kNotSupported;
  }

  std::optional<std::chrono::nanoseconds> usage_of(const CgroupPath& path,
                                                   const std::string& source) {
    const auto c = counters.cpu(path);
    if (!c) {
      fault(source, c.error());
      return std::nullopt;
    }
    ok(source);
    return c->usage;
  }

  std::optional<MilliCpu> class_rate(const CgroupPath& path, const std::string& source) {
    const auto usage = usage_of(path, source);
    if (!usage) {
      classes.erase(path);
      return std::nullopt;
    }
    touched.insert(path);
    return classes[path].update({clock.now(), *usage}, ceiling);
  }

  void emit(std::string kind, std::string owner, std::int64_t value) {
    samples.push_back({{std::move(kind), std::move(owner)}, value});
  }

  std::optional<MilliCpu> node_rate();
  void note_steal(std::uint64_t ticks);
  void read_memory(NodeSignals& out);
  void read_classes(const NodeState& state, const kernel::CgroupLayout& layout, NodeSignals& out);
  void read_host_apps(const NodeState& state, const kernel::CgroupLayout& layout, NodeSignals& out);
  void emit_node(const NodeSignals& s);
  void measure_pod(const Pod& pod);
  void measure_container(const Container& c);
  void emit_workload(const std::string& prefix, const std::string& owner, const WorkloadUsage& u);
  /// Only where the kernel counts idle pages: there it costs a file a cgroup.
  void emit_cold_memory(const std::string& prefix,
                        const std::string& owner,
                        const CgroupPath& cgroup,
                        const WorkloadUsage& u);
  void take_notes();
  /// Containers whose cgroup cannot be read, from the runtime: CPU and memory only.
  boost::asio::awaitable<void> ask_runtime();
  void take_runtime_stats(const runtime::ContainerStats& stats, CounterSource source);
  // node_usage.cpp: what costs O(1) files a tick
  void read_node_usage(MonoTime now);
  void read_stalls();
  void read_disks();
  void read_networks();
  void read_numa_cpu();
  void emit_node_usage();
  // slow_sources.cpp: what changes slowly or costs much
  void read_caches();
  Result<void> read_cache_group(const std::string& group, std::chrono::nanoseconds elapsed);
  void read_cold_memory();
  void read_numa_memory();
  void read_storage_info();
  void emit_best_effort(const NodeState& state);
  void drop_gone(const NodeState& state);
  std::optional<Bytes> host_app_memory(const NodeState& state);
  void measure_system_memory(const NodeState& state, MonoTime began);
};

/// Until the cgroup driver is known a pod has no path of its own, and the root is no pod's.
inline bool is_measured(const Pod& pod) { return is_active(pod) && !pod.cgroup.is_root(); }

inline bool is_gone(const Error& e) { return e.code == Errc::kGone || e.code == Errc::kNotFound; }

}  // namespace koordlet
