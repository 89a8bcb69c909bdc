#pragma once

#include <memory>

#include "modules/node_reporter/topology_build.hpp"
#include "report_fixture.hpp"

namespace koordlet::test {

inline CpuSet set(const char* text) { return CpuSet::parse(text).value(); }

/// `cpus` CPUs, two threads a core, spread over `nodes` NUMA nodes of one socket each.
inline CpuTopology machine(int cpus, int nodes) {
  CpuTopology out;
  const int each = cpus / nodes;
  for (int i = 0; i < cpus; ++i) out.push_back({i, i / 2, i / each, i / each});
  return out;
}

inline std::shared_ptr<const Pod> with_cpus(const char* name, QosClass qos, const char* cpus) {
  auto p = std::make_shared<Pod>(*pod("d", name, KubeQos::kGuaranteed));
  p->qos = qos;
  p->allocated_cpus = set(cpus);
  return p;
}

inline TopologyInput small() {
  TopologyInput in;
  in.cpus = machine(8, 1);
  in.numa[0] = {Bytes{16 * kGi}, Bytes{kGi}, Bytes{0}};
  auto node = std::make_shared<Node>();
  node->name = "n1";
  node->cpu_capacity = MilliCpu{8000};
  node->memory_capacity = Bytes{16 * kGi};
  in.node = node;
  in.node_uid = "uid-1";
  in.node_annotations.emplace();
  return in;
}

/// The example of reference 4.4.
inline TopologyInput example() {
  auto in = small();
  in.pods = {pod("d", "static", KubeQos::kGuaranteed),
             with_cpus("lsr", QosClass::kLsr, "4-5"),
             with_cpus("lse", QosClass::kLse, "6")};
  in.kubelet_cpus["uid-static"] = set("2-3");
  (*in.node_annotations)["node.koordinator.sh/reservation"] = R"({"reservedCPUs":"0"})";
  return in;
}

}  // namespace koordlet::test
