#include "model/metric_kind.hpp"

#include <algorithm>
#include <initializer_list>

#include "base/near_name.hpp"

namespace koordlet {
namespace {

using Unit = MetricUnit;

constexpr std::string_view kContainerId = "container_id";

MetricKind kind(std::string_view name,
                Unit unit,
                std::initializer_list<std::string_view> labels,
                std::string_view about) {
  MetricKind out;
  out.name = name;
  out.unit = unit;
  std::copy(labels.begin(), labels.end(), out.label_names.begin());
  out.label_count = labels.size();
  out.about = about;
  return out;
}

std::vector<MetricKind> node_kinds() {
  return {
      kind("node_cpu_usage", Unit::kMilliCores, {}, "CPU use of the node"),
      kind("node_cpu_steal", Unit::kPermille, {}, "CPU time that the hypervisor took"),
      kind("node_memory_usage", Unit::kBytes, {}, "memory use of the node without page cache"),
      kind("node_memory_usage_with_page_cache", Unit::kBytes, {}, "memory use with page cache"),
      kind("node_memory_cold_page_size", Unit::kBytes, {}, "page cache that nobody touched lately"),
      kind("node_memory_with_hot_page_usage", Unit::kBytes, {}, "memory use with hot page cache"),
      kind("node_numa_cpu_usage", Unit::kMilliCores, {"numa_node_id"}, "CPU use of a NUMA node"),
      kind("node_numa_memory_usage", Unit::kBytes, {"numa_node_id"}, "memory use of a NUMA node"),
      kind("node_be",
           Unit::kMilliCores,
           {"be_resource", "be_allocation"},
           "best effort: its use, request, real limit and decided cap"),
      kind("node_ls_cpu_usage",
           Unit::kMilliCores,
           {},
           "CPU use of all pods that are not best effort"),
      kind("node_pressure_level", Unit::kCount, {}, "pressure level: 0 NONE, 1 MID, 2 HIGH"),
      kind("node_psi",
           Unit::kPermille,
           {"psi_resource", "psi_precision", "psi_degree"},
           "stalls of the node"),
      kind("node_disk_read_bytes", Unit::kBytesPerSecond, {"device"}, "reads of a disk"),
      kind("node_disk_write_bytes", Unit::kBytesPerSecond, {"device"}, "writes of a disk"),
      kind("node_disk_busy", Unit::kPermille, {"device"}, "time with a request under way"),
      kind("node_disk_await", Unit::kMicroseconds, {"device"}, "mean time of a request"),
      kind("node_network_rx_bytes", Unit::kBytesPerSecond, {"device"}, "received"),
      kind("node_network_tx_bytes", Unit::kBytesPerSecond, {"device"}, "sent"),
      kind("node_interference", Unit::kDegree, {"component"}, "degree of the worst pod"),
      kind("node_predicted_peak_cpu",
           Unit::kMilliCores,
           {},
           "CPU peak of the node that was forecast for the window from then on"),
      kind("node_predicted_peak_memory", Unit::kBytes, {}, "the same of its memory"),
      kind("sys_cpu_usage", Unit::kMilliCores, {}, "CPU use outside of pods"),
      kind("sys_memory_usage", Unit::kBytes, {}, "memory use outside of pods"),
      kind("host_application_cpu_usage",
           Unit::kMilliCores,
           {"host_app_name"},
           "CPU use of an application outside of Kubernetes"),
      kind("host_application_memory_usage",
           Unit::kBytes,
           {"host_app_name"},
           "its memory use without page cache"),
      kind("host_application_memory_usage_with_page_cache",
           Unit::kBytes,
           {"host_app_name"},
           "its memory use with page cache"),
      kind("resctrl_resource_llc", Unit::kBytes, {"qos", "cache_id"}, "last-level cache in use"),
      kind("resctrl_resource_mb",
           Unit::kBytesPerSecond,
           {"qos", "cache_id", "resctrl_mb_type"},
           "memory bandwidth"),
  };
}

std::vector<MetricKind> workload_kinds() {
  const std::string_view pod = "pod_uid";
  const auto& container = kContainerId;
  return {
      kind("pod_cpu_usage", Unit::kMilliCores, {pod}, "CPU use of a pod"),
      kind("pod_cpu_throttled", Unit::kPermille, {pod}, "periods in which a pod was throttled"),
      kind("pod_memory_usage", Unit::kBytes, {pod}, "memory use of a pod without page cache"),
      kind("pod_memory_usage_with_page_cache", Unit::kBytes, {pod}, "its use with page cache"),
      kind("pod_memory_working_set", Unit::kBytes, {pod}, "its working set"),
      kind("pod_memory_cold_page_size", Unit::kBytes, {pod}, "page cache nobody touched lately"),
      kind("pod_memory_with_hot_page_usage", Unit::kBytes, {pod}, "its use with hot page cache"),
      kind("pod_io_read_bytes", Unit::kBytesPerSecond, {pod}, "block reads of a pod"),
      kind("pod_io_write_bytes", Unit::kBytesPerSecond, {pod}, "block writes of a pod"),
      kind("pod_io_reads", Unit::kPerSecond, {pod}, "block read operations of a pod"),
      kind("pod_io_writes", Unit::kPerSecond, {pod}, "block write operations of a pod"),
      kind("pod_psi",
           Unit::kPermille,
           {pod, "psi_resource", "psi_precision", "psi_degree"},
           "stalls of a pod"),
      kind("pod_psi_cpu_full_supported", Unit::kFlag, {pod}, "whether CPU stalls have a full line"),
      kind("pod_sched_latency",
           Unit::kMicroseconds,
           {pod, "quantile"},
           "run-queue wait of a pod: avg, p50, p95, p99"),
      kind("pod_cpi",
           Unit::kThousandths,
           {pod, "container_name"},
           "cycles an instruction of a container"),
      kind("pod_llc_miss_ratio",
           Unit::kPermille,
           {pod, "container_name"},
           "misses of the last-level cache"),
      kind("pod_interference", Unit::kDegree, {pod, "component"}, "how much a pod is hurt"),
      kind("container_cpu_usage", Unit::kMilliCores, {container}, "CPU use of a container"),
      kind("container_cpu_throttled", Unit::kPermille, {container}, "periods with throttling"),
      kind("container_memory_usage", Unit::kBytes, {container}, "memory use without page cache"),
      kind("container_memory_usage_with_page_cache",
           Unit::kBytes,
           {container},
           "memory use with page cache"),
      kind("container_memory_working_set", Unit::kBytes, {container}, "working set"),
      kind("container_memory_cold_page_size",
           Unit::kBytes,
           {container},
           "page cache nobody touched lately"),
      kind("container_memory_with_hot_page_usage",
           Unit::kBytes,
           {container},
           "memory use with hot page cache"),
      kind("container_io_read_bytes", Unit::kBytesPerSecond, {container}, "block reads"),
      kind("container_io_write_bytes", Unit::kBytesPerSecond, {container}, "block writes"),
      kind("container_io_reads", Unit::kPerSecond, {container}, "block read operations"),
      kind("container_io_writes", Unit::kPerSecond, {container}, "block write operations"),
      kind("container_psi",
           Unit::kPermille,
           {container, "psi_resource", "psi_precision", "psi_degree"},
           "stalls of a container"),
      kind("container_psi_cpu_full_supported",
           Unit::kFlag,
           {container},
           "whether CPU stalls have a full line"),
      kind("container_cpi",
           Unit::kCount,
           {pod, container, "cpi_resource"},
           "cycles and instructions of a window"),
  };
}

std::vector<MetricKind> all_kinds() {
  auto out = node_kinds();
  for (auto& k : workload_kinds()) out.push_back(k);
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return out;
}

}  // namespace

std::string_view to_string(MetricUnit unit) {
  switch (unit) {
    case Unit::kMilliCores:
      return "milli-cores";
    case Unit::kBytes:
      return "bytes";
    case Unit::kBytesPerSecond:
      return "bytes/s";
    case Unit::kPerSecond:
      return "1/s";
    case Unit::kPermille:
      return "permille";
    case Unit::kMicroseconds:
      return "microseconds";
    case Unit::kThousandths:
      return "thousandths";
    case Unit::kCount:
      return "count";
    case Unit::kDegree:
      return "degree";
    case Unit::kFlag:
      return "flag";
  }
  return "";
}

BaseUnit base_unit(MetricUnit unit) {
  switch (unit) {
    case Unit::kMilliCores:
      return {"cores", 1e3};
    case Unit::kBytes:
      return {"bytes", 1};
    case Unit::kBytesPerSecond:
      return {"bytes_per_second", 1};
    case Unit::kPerSecond:
      return {"per_second", 1};
    case Unit::kPermille:
    case Unit::kThousandths:
      return {"ratio", 1e3};
    case Unit::kMicroseconds:
      return {"seconds", 1e6};
    case Unit::kCount:
    case Unit::kDegree:
    case Unit::kFlag:
      break;
  }
  return {};
}

std::span<const MetricKind> metric_kinds() {
  static const std::vector<MetricKind> kinds = all_kinds();
  return kinds;
}

const MetricKind* find_metric_kind(std::string_view name) {
  const auto kinds = metric_kinds();
  const auto at = std::lower_bound(
      kinds.begin(), kinds.end(), name, [](const auto& k, auto n) { return k.name < n; });
  return at != kinds.end() && at->name == name ? &*at : nullptr;
}

std::optional<std::vector<std::string>> label_values(const MetricKind& kind,
                                                     std::string_view owner) {
  const auto labels = kind.labels();
  if (labels.empty()) {
    if (!owner.empty()) return std::nullopt;
    return std::vector<std::string>{};
  }
  const auto id = std::find(labels.begin(), labels.end(), kContainerId);
  const auto wide = id == labels.end() ? 0 : static_cast<std::size_t>(id - labels.begin());
  std::vector<std::string> out(labels.size());
  for (std::size_t i = 0; i < wide; ++i) {
    const auto slash = owner.find('/');
    if (slash == std::string_view::npos) return std::nullopt;
    out[i] = owner.substr(0, slash);
    owner.remove_prefix(slash + 1);
  }
  for (std::size_t i = labels.size() - 1; i > wide; --i) {
    const auto slash = owner.rfind('/');
    if (slash == std::string_view::npos) return std::nullopt;
    out[i] = owner.substr(slash + 1);
    owner.remove_suffix(owner.size() - slash);
  }
  out[wide] = owner;
  const bool whole =
      std::none_of(out.begin(), out.end(), [](const std::string& v) { return v.empty(); });
  if (!whole) return std::nullopt;
  return out;
}

std::vector<std::string> near_metric_names(std::string_view wrong) {
  std::vector<std::string_view> names;
  for (const auto& k : metric_kinds()) names.push_back(k.name);
  return near_names(wrong, names);
}

}  // namespace koordlet
