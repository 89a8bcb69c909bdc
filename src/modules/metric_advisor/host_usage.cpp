#include <algorithm>

#include <fmt/format.h>

#include "modules/metric_advisor/host_application.hpp"
#include "modules/metric_advisor/impl.hpp"

namespace koordlet {
namespace {

std::string source_of(const HostApplication& app) { return "host application " + app.name; }

}  // namespace

void MetricAdvisor::Impl::read_host_apps(const NodeState& state,
                                         const kernel::CgroupLayout& tree,
                                         NodeSignals& out) {
  if (!state.slo) return;
  for (const auto& app : state.slo->host_applications) {
    const auto path = host_application_path(app, tree);
    if (!path) {
      fault(source_of(app), path.error());
      continue;
    }
    const auto rate = class_rate(*path, source_of(app));
    if (!rate) continue;
    app_cpu.push_back({app.name, *rate});
    // What lives below the BE root is in be_used already, and below kubepods in its counter.
    if (!tree.tier(KubeQos::kBestEffort).is_ancestor_of(*path)) out.host_app_used += *rate;
    if (!tree.kubepods().is_ancestor_of(*path)) apps_outside_pods += *rate;
  }
}

/// Emits each application's memory; the sum without page cache, nullopt when one of them could not
/// be read. One that does not run uses nothing.
std::optional<Bytes> MetricAdvisor::Impl::host_app_memory(const NodeState& state) {
  Bytes sum;
  if (!state.slo || state.slo->host_applications.empty()) return sum;
  if (!layout) return std::nullopt;
  bool whole = true;
  for (const auto& app : state.slo->host_applications) {
    const auto path = host_application_path(app, *layout);
    if (!path) {
      whole = false;
      continue;
    }
    if (const auto all = counters.memory_usage(*path)) {
      emit("host_application_memory_usage_with_page_cache", app.name, all->v);
    }
    const auto mem = counters.memory(*path);
    if (mem) {
      emit("host_application_memory_usage", app.name, mem->without_cache().v);
      sum += mem->without_cache();
    } else if (!is_gone(mem.error())) {
      fault(source_of(app), mem.error());
      whole = false;
    }
  }
  if (!whole) return std::nullopt;
  return sum;
}

/// Right after the pods were read, so that the parts are of one age: what grew in between would
/// count as the system's.
void MetricAdvisor::Impl::measure_system_memory(const NodeState& state, MonoTime began) {
  const auto apps = host_app_memory(state);
  const auto mem = proc.meminfo();
  if (!apps || !mem || !pass_memory || state.pods_at == MonoTime{}) return;
  if (clock.now() - began > config.collect_interval) return;
  const auto system = mem->total - mem->available - *pass_memory - *apps;
  emit("sys_memory_usage", "", std::max<std::int64_t>(0, system.v));
}

}  // namespace koordlet
