#include "modules/node_reporter/topology_build.hpp"

#include <algorithm>
#include <tuple>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

namespace koordlet {
namespace {

namespace json = boost::json;

constexpr const char* kReservation = "node.koordinator.sh/reservation";
constexpr const char* kSystemQos = "node.koordinator.sh/system-qos-resource";
constexpr const char* kNumaReservation = "node.koordinator.sh/enable-numa-reservation";

std::string annotation(const TopologyInput& input, const char* key) {
  if (!input.node_annotations) return {};
  const auto at = input.node_annotations->find(key);
  return at == input.node_annotations->end() ? std::string{} : at->second;
}

/// The named CPUs, else as many as the amount asks for, whole cores first in the order of sockets,
/// as kubelet packs them.
CpuSet reserved_cpus(const TopologyInput& input) {
  const auto text = annotation(input, kReservation);
  if (text.empty()) return {};
  const auto reservation = k8s::decode_cpu_reservation(text);
  if (!reservation.cpus.empty() || !reservation.cpu) return reservation.cpus;
  auto order = input.cpus;
  std::sort(order.begin(), order.end(), [](const Processor& a, const Processor& b) {
    return std::tie(a.socket, a.core, a.cpu) < std::tie(b.socket, b.core, b.cpu);
  });
  const auto wanted = reservation.cpu->v / 1000 + (reservation.cpu->v % 1000 != 0 ? 1 : 0);
  CpuSet out;
  for (const auto& p : order) {
    if (out.count() >= wanted) break;
    out.add(p.cpu);
  }
  return out;
}

const Pod* pod_of(const TopologyInput& input, const std::string& uid) {
  const auto at = std::find_if(
      input.pods.begin(), input.pods.end(), [&](const auto& p) { return p->uid == uid; });
  return at == input.pods.end() ? nullptr : at->get();
}

/// Pods of the kubelet's static policy that really have CPUs of their own: those labelled LS or BE
/// share by our rules, and a cpuset of the scheduler wins.
std::map<std::string, CpuSet> static_pods(const TopologyInput& input) {
  std::map<std::string, CpuSet> out;
  for (const auto& [uid, cpus] : input.kubelet_cpus) {
    const auto* pod = pod_of(input, uid);
    if (pod == nullptr) continue;
    if (pod->qos == QosClass::kLs || pod->qos == QosClass::kBe) continue;
    if (!pod->allocated_cpus.empty()) continue;
    out.emplace(uid, cpus);
  }
  return out;
}

/// What is taken later leaves an empty entry; a NUMA node that has no CPU left before has none.
std::vector<CpuPools::Pool> pools_of(const CpuTopology& cpus,
                                     const CpuSet& free,
                                     const CpuSet& later) {
  std::map<std::pair<int, int>, CpuSet> by_node;
  for (const auto& p : cpus) {
    if (free.contains(p.cpu)) by_node[{p.socket, p.numa}].add(p.cpu);
  }
  std::vector<CpuPools::Pool> out;
  for (const auto& [where, set] : by_node) out.push_back({where.first, where.second, set - later});
  return out;
}

std::string pools_text(const std::vector<CpuPools::Pool>& pools) {
  json::array out;
  for (const auto& p : pools) {
    json::object entry{{"socket", p.socket}, {"node", p.numa}};
    if (!p.cpus.empty()) entry["cpuset"] = p.cpus.to_string();
    out.push_back(std::move(entry));
  }
  return json::serialize(out);
}

std::string allocs_text(const TopologyInput& input) {
  const auto pods = static_pods(input);
  if (pods.empty()) return "null";
  json::array out;
  for (const auto& [uid, cpus] : pods) {
    const auto* pod = pod_of(input, uid);
    out.push_back(json::object{{"namespace", pod->ns},
                               {"name", pod->name},
                               {"uid", uid},
                               {"cpuset", cpus.to_string()},
                               {"managedByKubelet", true}});
  }
  return json::serialize(out);
}

std::string topology_text(CpuTopology cpus) {
  std::sort(cpus.begin(), cpus.end(), [](const auto& a, const auto& b) { return a.cpu < b.cpu; });
  json::array detail;
  for (const auto& p : cpus) {
    detail.push_back(
        json::object{{"id", p.cpu}, {"core", p.core}, {"socket", p.socket}, {"node", p.numa}});
  }
  json::object out;
  out["detail"] = std::move(detail);
  return json::serialize(out);
}

std::string basic_text(const CpuBasicInfo& basic) {
  const json::object out{{"cpuModel", basic.model},
                         {"hyperThreadEnabled", basic.hyper_threads},
                         {"turboEnabled", basic.turbo},
                         {"catL3CbmMask", basic.l3_mask},
                         {"vendorID", basic.vendor}};
  return json::serialize(out);
}

std::string manager_text(const std::optional<k8s::KubeletConfig>& kubelet) {
  json::object out;
  if (!kubelet) return json::serialize(out);
  if (kubelet->cpu_manager_policy) out["policy"] = *kubelet->cpu_manager_policy;
  json::object options;
  for (const auto& [key, value] : kubelet->cpu_manager_policy_options) options[key] = value;
  if (!options.empty()) out["options"] = std::move(options);
  if (kubelet->reserved_system_cpus && !kubelet->reserved_system_cpus->empty()) {
    out["reservedCPUs"] = *kubelet->reserved_system_cpus;
  }
  return json::serialize(out);
}

std::string reservation_text(const CpuSet& reserved) {
  json::object out;
  if (!reserved.empty()) out["reservedCPUs"] = reserved.to_string();
  return json::serialize(out);
}

std::string system_qos_text(const TopologyInput& input) {
  if (!input.node_annotations) return "null";
  const auto text = annotation(input, kSystemQos);
  boost::system::error_code ec;
  const auto value = json::parse(text, ec);
  return !ec && value.is_object() ? json::serialize(value) : "{}";
}

std::string policy_name(const std::optional<k8s::KubeletConfig>& kubelet) {
  if (!kubelet || !kubelet->topology_manager_policy) return "None";
  const auto& policy = *kubelet->topology_manager_policy;
  const std::string level =
      kubelet->topology_manager_scope == std::string{"pod"} ? "PodLevel" : "ContainerLevel";
  if (policy == "single-numa-node") return "SingleNUMANode" + level;
  if (policy == "restricted") return "Restricted" + level;
  if (policy == "best-effort") return "BestEffort" + level;
  return "None";
}

std::int64_t share_up(std::int64_t all, std::int64_t parts) {
  return all <= 0 ? 0 : (all + parts - 1) / parts;
}

std::vector<k8s::Zone> zones_of(const TopologyInput& input) {
  std::map<int, k8s::Zone> zones;
  for (const auto& p : input.cpus) {
    auto& zone = zones[p.numa];
    zone.numa = p.numa;
    ++zone.cpus;
  }
  for (const auto& [id, memory] : input.numa) {
    auto& zone = zones[id];
    zone.numa = id;
    zone.huge_1gi = memory.huge_1gi;
    zone.huge_2mi = memory.huge_2mi;
    if (!memory.total) continue;
    const auto huge = memory.huge_1gi.value_or(Bytes{}) + memory.huge_2mi.value_or(Bytes{});
    zone.memory = Bytes{std::max<std::int64_t>(0, memory.total->v - huge.v)};
  }
  const auto label = input.node_labels.find(kNumaReservation);
  const bool spread = label != input.node_labels.end() && label->second == "true";
  std::vector<k8s::Zone> out;
  const auto count = static_cast<std::int64_t>(zones.size());
  for (auto& [id, zone] : zones) {
    const auto& node = *input.node;
    if (spread && node.cpu_allocatable) {
      zone.cpu_reserved.v = share_up(node.cpu_capacity.v - node.cpu_allocatable->v, count);
    }
    if (spread && node.memory_allocatable) {
      zone.memory_reserved.v = share_up(node.memory_capacity.v - node.memory_allocatable->v, count);
    }
    out.push_back(zone);
  }
  return out;
}

}  // namespace

CpuPools cpu_pools(const TopologyInput& input) {
  CpuPools out;
  out.reserved = reserved_cpus(input);
  CpuSet all;
  for (const auto& p : input.cpus) all.add(p.cpu);
  CpuSet ls = all, be = all;
  for (const auto& [uid, cpus] : static_pods(input)) {
    ls = ls - cpus;
    be = be - cpus;
  }
  for (const auto& pod : input.pods) {
    if (!is_active(*pod)) continue;
    ls = ls - pod->allocated_cpus;
    if (pod->qos == QosClass::kLse) be = be - pod->allocated_cpus;
  }
  const auto later = out.reserved | (input.node ? input.node->system_cpus : CpuSet{});
  out.ls = pools_of(input.cpus, ls, later);
  out.be = pools_of(input.cpus, be, later);
  return out;
}

k8s::NodeTopology build_topology(const TopologyInput& input) {
  const auto pools = cpu_pools(input);
  k8s::NodeTopology out;
  out.annotations = {
      {"node.koordinator.sh/cpu-basic-info", basic_text(input.basic)},
      {"node.koordinator.sh/cpu-topology", topology_text(input.cpus)},
      {"node.koordinator.sh/cpu-shared-pools", pools_text(pools.ls)},
      {"node.koordinator.sh/be-cpu-shared-pools", pools_text(pools.be)},
      {"node.koordinator.sh/pod-cpu-allocs", allocs_text(input)},
      {"kubelet.koordinator.sh/cpu-manager-policy", manager_text(input.kubelet)},
      {kReservation, reservation_text(pools.reserved)},
      {kSystemQos, system_qos_text(input)},
  };
  const auto label = input.node_labels.find(kNumaReservation);
  if (label != input.node_labels.end()) out.numa_reservation = label->second;
  out.policy = policy_name(input.kubelet);
  out.zones = zones_of(input);
  return out;
}

}  // namespace koordlet
