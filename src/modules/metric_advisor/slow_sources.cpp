#include <algorithm>

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include "kernel/cold_memory.hpp"
#include "kernel/numa.hpp"
#include "kernel/probe.hpp"
#include "modules/metric_advisor/be_class.hpp"
#include "modules/metric_advisor/impl.hpp"

namespace koordlet {
namespace {

namespace asio = boost::asio;

constexpr unsigned kStorageEach = 6;  // disks do not come and go by the second

/// In words: what resctrl lacks here.
Error resctrl_error(const kernel::HostRoots& roots, const Error& e) {
  const auto mount = kernel::resctrl_mount_point(roots);
  switch (kernel::probe_resctrl(roots)) {
    case kernel::Resctrl::kUnsupported:
      return {Errc::kNotSupported, "neither this CPU nor this kernel offers resctrl"};
    case kernel::Resctrl::kNotMounted:
      return {Errc::kNotFound, fmt::format("not mounted: mount -t resctrl resctrl {0}", mount)};
    case kernel::Resctrl::kMounted:
      break;
  }
  return wrap("no group of collect.resctrl_groups is there", e);
}

}  // namespace

/// Cache and bandwidth of one group. kNotFound: there is no such group.
Result<void> MetricAdvisor::Impl::read_cache_group(const std::string& group,
                                                   std::chrono::nanoseconds elapsed) {
  const auto caches = kernel::read_resctrl_group(roots, group);
  if (!caches) return caches.error();
  for (const auto& c : *caches) {
    CacheUsage use;
    use.group = group;
    use.cache_id = c.cache_id;
    if (c.llc_occupancy_bytes)
      use.occupancy_bytes = static_cast<std::int64_t>(*c.llc_occupancy_bytes);
    const auto at = cache_before.find({group, c.cache_id});
    // Bandwidth is what the counter grew by; one that wrapped gives nothing this time.
    const auto rate = [&](const auto& old, const auto& value) -> std::optional<std::int64_t> {
      if (!old || !value) return std::nullopt;
      return per_second(*old, *value, elapsed);
    };
    if (at != cache_before.end()) {
      use.total_bytes_per_second = rate(at->second.mbm_total_bytes, c.mbm_total_bytes);
      use.local_bytes_per_second = rate(at->second.mbm_local_bytes, c.mbm_local_bytes);
    }
    cache_base[{group, c.cache_id}] = c;
    const auto owner = fmt::format("{}/{}", group, c.cache_id);
    if (use.occupancy_bytes) emit("resctrl_resource_llc", owner, *use.occupancy_bytes);
    if (use.total_bytes_per_second)
      emit("resctrl_resource_mb", owner + "/mbm_total_bytes", *use.total_bytes_per_second);
    if (use.local_bytes_per_second)
      emit("resctrl_resource_mb", owner + "/mbm_local_bytes", *use.local_bytes_per_second);
    node_usage.caches.push_back(std::move(use));
  }
  return {};
}

/// A group that nobody made stops no other: it is named where none of them is there.
void MetricAdvisor::Impl::read_caches() {
  node_usage.caches.clear();
  const auto now = clock.now();
  const auto elapsed = caches_at ? now - *caches_at : std::chrono::nanoseconds{0};
  caches_at = now;
  cache_before = std::exchange(cache_base, {});
  std::optional<Error> failed, missing;
  bool any = false;
  for (const auto& group : config.resctrl_groups) {
    const auto read = read_cache_group(group, elapsed);
    any |= read.has_value();
    if (read) continue;
    auto& why = read.error().code == Errc::kNotFound ? missing : failed;
    if (!why) why = read.error();
  }
  if (failed) return fault("resctrl", *failed);
  if (any) return ok("resctrl");
  if (missing) fault("resctrl", resctrl_error(roots, *missing));
}

void MetricAdvisor::Impl::read_cold_memory() {
  node_usage.cold_memory.reset();
  const auto cold = kernel::read_cold_memory(roots, version, CgroupPath{});
  if (!cold) {
    fault("cold memory", cold.error());
    return;
  }
  ok("cold memory");
  node_usage.cold_memory = *cold;
  emit("node_memory_cold_page_size", "", cold->v);
  if (node_cache_used) {
    emit("node_memory_with_hot_page_usage",
         "",
         std::max<std::int64_t>(0, node_cache_used->v - cold->v));
  }
}

void MetricAdvisor::Impl::read_numa_memory() {
  for (auto& n : node_usage.numa) n.memory.reset();
  const auto nodes = kernel::read_numa_use(roots);
  if (!nodes) {
    fault("numa memory", nodes.error());
    return;
  }
  ok("numa memory");
  for (const auto& m : *nodes) {
    auto at = std::find_if(node_usage.numa.begin(), node_usage.numa.end(), [&](const auto& n) {
      return n.node == m.node;
    });
    if (at == node_usage.numa.end())
      at = node_usage.numa.insert(at, NumaUsage{m.node, std::nullopt, std::nullopt});
    at->memory = m.used;
    emit("node_numa_memory_usage", std::to_string(m.node), m.used.v);
  }
}

void MetricAdvisor::Impl::read_storage_info() {
  auto info = kernel::read_storage(roots);
  if (!info) {
    fault("storage", info.error());
    return;
  }
  ok("storage");
  storage = std::move(*info);
}

void MetricAdvisor::Impl::emit_best_effort(const NodeState& state) {
  if (state.pods_at != MonoTime{}) emit("node_be", "cpu/request", be_request(state).v);
  if (be_root) emit("node_be", "cpu/real-limit", be_real_limit(*be_root).v);
}

asio::awaitable<void> MetricAdvisor::sample_slow() {
  auto& m = *impl_;
  m.read_caches();
  co_await asio::post(asio::use_awaitable);
  m.read_cold_memory();
  m.read_numa_memory();
  if (m.slow_passes++ % kStorageEach != 0) co_return;
  co_await asio::post(asio::use_awaitable);
  m.read_storage_info();
}

void MetricAdvisor::note_be_root(const BeRoot& root) { impl_->be_root = root; }

void MetricAdvisor::note_decision(int level, std::optional<MilliCpu> be_cap) {
  impl_->emit("node_pressure_level", "", level);
  if (be_cap) impl_->emit("node_be", "cpu/cap", be_cap->v);
}

}  // namespace koordlet
