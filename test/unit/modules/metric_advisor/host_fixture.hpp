#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "model/metric_kind.hpp"
#include "modules/metric_advisor/metric_advisor.hpp"
#include "support/fake_tree.hpp"
#include "support/manual_clock.hpp"

namespace koordlet::test {

using namespace std::chrono_literals;

inline constexpr const char* kMemoryStat =
    "total_cache 1\ntotal_rss 1\ntotal_inactive_anon 104857600\ntotal_active_anon 52428800\n"
    "total_inactive_file 209715200\ntotal_active_file 31457280\ntotal_unevictable 4096\n";

/// A v1 host: 4 CPUs, a kubepods tree of the cgroupfs driver, one LS and one BE pod.
struct Host {
  FakeTree tree;
  ManualClock clock;
  NodeState state;
  std::optional<kernel::CgroupLayout> layout{kernel::CgroupLayout{CgroupDriver::kCgroupfs}};
  long hz = kernel::ProcFs::ticks_per_second();

  Host() {
    tree.write("sys/devices/system/cpu/online", "0-3\n");
    meminfo(1000, 400);
    node_seconds(0);
    for (const char* cg : {"kubepods",
                           "kubepods/besteffort",
                           "kubepods/burstable/podls",
                           "kubepods/besteffort/podbe"}) {
      usage(cg, 0ns);
      tree.write(fmt::format("cg/cpu/{}/cpu.stat", cg),
                 "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n");
      tree.write(fmt::format("cg/memory/{}/memory.stat", cg), kMemoryStat);
    }
    state.pods = {pod("be", KubeQos::kBestEffort), pod("ls", KubeQos::kBurstable)};
  }

  std::shared_ptr<const Pod> pod(const std::string& uid, KubeQos qos) const {
    auto p = std::make_shared<Pod>();
    p->uid = uid;
    p->kube_qos = qos;
    p->phase = PodPhase::kRunning;
    p->cgroup = layout->tier(qos).child("pod" + uid);
    return p;
  }
  kernel::HostRoots roots() const {
    return {.cgroup = tree.path("cg"),
            .proc = tree.path("proc"),
            .sys = tree.path("sys"),
            .dev = tree.path("dev")};
  }
  /// Anonymous memory and page cache of a cgroup, and what memory.usage_in_bytes says.
  void memory(std::string_view cg, std::int64_t anon, std::int64_t file, std::int64_t usage) const {
    tree.write(fmt::format("cg/memory/{}/memory.stat", cg),
               fmt::format("total_inactive_anon 0\ntotal_active_anon {}\ntotal_inactive_file {}\n"
                           "total_active_file 0\ntotal_unevictable 0\n",
                           anon,
                           file));
    tree.write(fmt::format("cg/memory/{}/memory.usage_in_bytes", cg), fmt::format("{}\n", usage));
  }
  void node_seconds(double used) const {
    tree.write("proc/stat",
               fmt::format("cpu {} 0 0 9 9 0 0 0 0 0\n",
                           static_cast<long>(used * static_cast<double>(hz))));
  }
  void meminfo(int total_kb, int available_kb) const {
    tree.write(
        "proc/meminfo",
        fmt::format(
            "MemTotal: {} kB\nMemFree: 1 kB\nMemAvailable: {} kB\n", total_kb, available_kb));
  }
  void usage(std::string_view cg, std::chrono::nanoseconds ns) const {
    tree.write(fmt::format("cg/cpuacct/{}/cpuacct.usage", cg), fmt::format("{}\n", ns.count()));
  }
  MetricAdvisor advisor() const { return MetricAdvisor{{}, roots(), CgroupVersion::kV1, clock}; }
};

/// "kind owner" of samples that the metric registry does not describe: its labels would be lost.
inline std::vector<std::string> unregistered(const std::vector<store::MetricSample>& samples) {
  std::vector<std::string> out;
  for (const auto& s : samples) {
    const auto* kind = find_metric_kind(s.series.kind);
    if (kind == nullptr || !label_values(*kind, s.series.owner))
      out.push_back(s.series.kind + " " + s.series.owner);
  }
  return out;
}

/// Of the one series; all samples must be in the registry.
inline std::optional<std::int64_t> value_of(const std::vector<store::MetricSample>& samples,
                                            std::string_view kind,
                                            std::string_view owner) {
  CHECK(unregistered(samples) == std::vector<std::string>{});
  const auto it = std::find_if(samples.begin(), samples.end(), [&](const auto& s) {
    return s.series.kind == kind && s.series.owner == owner;
  });
  if (it == samples.end()) return std::nullopt;
  return it->value;
}

}  // namespace koordlet::test
