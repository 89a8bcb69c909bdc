#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

namespace koordlet::test {

/// A pod document; `extra` is put below metadata, status or spec by the caller's own text.
inline std::string pod_yaml(std::string_view uid,
                            std::string_view name,
                            std::string_view node = "",
                            std::string_view qos = "BestEffort") {
  return fmt::format(
      "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {}, namespace: default, uid: {}}}\n"
      "spec: {{nodeName: \"{}\", containers: [{{name: main}}]}}\n"
      "status: {{phase: Running, qosClass: {}, containerStatuses: [{{name: main, "
      "containerID: \"containerd://c{}\", state: {{running: {{}}}}}}]}}\n",
      name,
      uid,
      node,
      qos,
      uid);
}

inline std::string node_yaml(std::string_view name, int cpus = 8) {
  return fmt::format(
      "---\napiVersion: v1\nkind: Node\nmetadata: {{name: {}}}\nstatus: {{capacity: {{cpu: {}, "
      "memory: 16Gi}}}}\n",
      name,
      cpus);
}

inline std::string slo_yaml(std::string_view name, std::string_view threshold) {
  return fmt::format(
      "---\napiVersion: slo.koordinator.sh/v1alpha1\nkind: NodeSLO\nmetadata: {{name: {}}}\n"
      "spec: {{resourceUsedThresholdWithBE: {}}}\n",
      name,
      threshold);
}

inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace koordlet::test
