#include <algorithm>

#include "modules/metric_advisor/impl.hpp"

namespace koordlet {
namespace {

using std::chrono::nanoseconds;

/// A pod below the BE root is inside be_used already.
bool is_outside_be(const Pod& pod, const CgroupPath& be_root) {
  return pod.qos == QosClass::kBe && !be_root.is_ancestor_of(pod.cgroup);
}

}  // namespace

std::optional<MilliCpu> MetricAdvisor::Impl::node_rate() {
  const auto ticks = proc.stat();
  if (!ticks) {
    fault("node cpu", ticks.error());
    return std::nullopt;
  }
  ok("node cpu");
  note_steal(ticks->steal);
  static const long hz = kernel::ProcFs::ticks_per_second();
  const nanoseconds used{
      static_cast<std::int64_t>(static_cast<__int128>(ticks->used) * 1'000'000'000 / hz)};
  return node_cpu.update({clock.now(), used}, ceiling);
}

/// Of all CPU time since the last reading, what the hypervisor took.
void MetricAdvisor::Impl::note_steal(std::uint64_t ticks) {
  const auto now = clock.now();
  const auto before = std::exchange(steal_base, std::pair{now, ticks});
  node_usage.steal.reset();
  if (!before || now <= before->first || ticks < before->second || numa_of_cpu.empty()) return;
  const std::chrono::duration<double> elapsed = now - before->first;
  const auto all = elapsed.count() * static_cast<double>(kernel::ProcFs::ticks_per_second()) *
                   static_cast<double>(numa_of_cpu.size());
  const auto share = static_cast<double>(ticks - before->second) * 1000 / all;
  node_usage.steal = Permille{std::min<std::int64_t>(1000, static_cast<std::int64_t>(share + 0.5))};
  emit("node_cpu_steal", "", node_usage.steal->v);
}

void MetricAdvisor::Impl::read_memory(NodeSignals& out) {
  node_cache_used.reset();
  const auto mem = proc.meminfo();
  if (!mem) {
    fault("node memory", mem.error());
    return;
  }
  ok("node memory");
  out.memory_total = mem->total;
  out.memory_used = Bytes{std::max<std::int64_t>(0, mem->total.v - mem->available.v)};
  if (mem->free) node_cache_used = Bytes{std::max<std::int64_t>(0, mem->total.v - mem->free->v)};
}

void MetricAdvisor::Impl::read_classes(const NodeState& state,
                                       const kernel::CgroupLayout& layout,
                                       NodeSignals& out) {
  touched.clear();
  const auto be_root = layout.tier(KubeQos::kBestEffort);
  out.kubepods_used = class_rate(layout.kubepods(), "kubepods cpu");
  out.be_used = class_rate(be_root, "best-effort cpu");
  for (const auto& pod : state.pods) {
    if (!is_measured(*pod) || !is_outside_be(*pod, be_root)) continue;
    if (const auto rate = class_rate(pod->cgroup, "best-effort pods outside the class")) {
      out.be_outside_used += *rate;
    }
  }
  read_host_apps(state, layout, out);
  std::erase_if(classes, [&](const auto& c) { return !touched.contains(c.first); });
}

void MetricAdvisor::Impl::emit_node(const NodeSignals& s) {
  emit("node_cpu_usage", "", s.node_used.v);
  if (s.memory_used) emit("node_memory_usage", "", s.memory_used->v);
  if (node_cache_used) emit("node_memory_usage_with_page_cache", "", node_cache_used->v);
  if (s.be_used) emit("node_be", "cpu/usage", s.be_used->v);
  for (const auto& app : app_cpu) emit("host_application_cpu_usage", app.name, app.used.v);
  if (s.kubepods_used) {
    const auto system = s.node_used - *s.kubepods_used - apps_outside_pods;
    emit("sys_cpu_usage", "", std::max<std::int64_t>(0, system.v));
    if (s.be_used) {
      const auto ls = *s.kubepods_used - *s.be_used - s.be_outside_used;
      emit("node_ls_cpu_usage", "", std::max<std::int64_t>(0, ls.v));
    }
  }
}

std::optional<NodeSignals> MetricAdvisor::sample_node(
    const NodeState& state, const std::optional<kernel::CgroupLayout>& layout) {
  auto& m = *impl_;
  NodeSignals out;
  m.layout = layout;
  m.app_cpu.clear();
  m.apps_outside_pods = {};
  const auto used = m.node_rate();
  m.read_memory(out);
  if (layout) m.read_classes(state, *layout, out);
  m.read_node_usage(m.clock.now());
  if (!used) return std::nullopt;
  out.node_used = *used;
  out.at = m.clock.now();
  out.seq = ++m.seq;
  m.signals = out;
  m.emit_node(out);
  return out;
}

}  // namespace koordlet
