#include <algorithm>

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include "modules/metric_advisor/impl.hpp"

namespace koordlet {
namespace {

namespace asio = boost::asio;

constexpr auto kSlice = std::chrono::microseconds{1000};  // work between two yields to the loop

std::string container_owner(const Container& c) { return fmt::format("{}://{}", c.runtime, c.id); }

}  // namespace

std::optional<MilliCpu> MetricAdvisor::Impl::measure_cpu(const CgroupPath& path, MonoTime& at) {
  const auto c = counters.cpu(path);
  at = clock.now();
  if (!c) {
    if (!is_gone(c.error())) fault("pod cpu", c.error());
    tracks.erase(path);
    return std::nullopt;
  }
  ok("pod cpu");
  return tracks[path].cpu.update({at, c->usage}, ceiling);
}

std::optional<Permille> MetricAdvisor::Impl::measure_throttle(const CgroupPath& path) {
  const auto t = counters.throttle(path);
  if (!t) {
    if (!is_gone(t.error())) fault("throttling", t.error());
    return std::nullopt;
  }
  ok("throttling");
  return tracks[path].throttle.update(t->periods, t->throttled);
}

void MetricAdvisor::Impl::measure_container(const Container& c) {
  MonoTime at;
  const auto owner = container_owner(c);
  if (const auto cpu = measure_cpu(*c.cgroup, at)) emit("container_cpu_usage", owner, cpu->v);
  if (const auto mem = counters.memory(*c.cgroup))
    emit("container_memory_usage", owner, mem->without_cache().v);
  if (const auto t = measure_throttle(*c.cgroup)) emit("container_cpu_throttled", owner, t->v);
}

void MetricAdvisor::Impl::measure_pod_memory(const Pod& pod, PodUsage& usage) {
  const auto mem = counters.memory(pod.cgroup);
  if (!mem) {
    if (is_gone(mem.error())) return;  // it uses nothing
    fault("pod memory", mem.error());
    pass_memory.reset();
    return;
  }
  ok("pod memory");
  usage.memory = mem->without_cache();
  if (pass_memory) *pass_memory += *usage.memory;
  emit("pod_memory_usage", pod.uid, usage.memory->v);
  emit("pod_memory_usage_with_page_cache", pod.uid, mem->with_cache().v);
}

void MetricAdvisor::Impl::measure_pod(const Pod& pod) {
  PodUsage usage;
  usage.cpu = measure_cpu(pod.cgroup, usage.at);
  usage.throttled = measure_throttle(pod.cgroup);
  measure_pod_memory(pod, usage);
  if (usage.cpu) emit("pod_cpu_usage", pod.uid, usage.cpu->v);
  if (usage.throttled) emit("pod_cpu_throttled", pod.uid, usage.throttled->v);
  if (usage.cpu || usage.memory) {
    pods[pod.uid] = usage;
  }
  for (const auto& c : pod.containers) {
    if (c.cgroup) measure_container(c);
  }
}

void MetricAdvisor::Impl::drop_gone(const NodeState& state) {
  std::erase_if(pods, [&](const auto& p) { return find_pod(state, p.first) == nullptr; });
  std::set<CgroupPath> alive;
  for (const auto& pod : state.pods) {
    alive.insert(pod->cgroup);
    for (const auto& c : pod->containers) {
      if (c.cgroup) alive.insert(*c.cgroup);
    }
  }
  std::erase_if(tracks, [&](const auto& t) {
    if (alive.contains(t.first)) return false;
    counters.forget(t.first);
    return true;
  });
}

asio::awaitable<void> MetricAdvisor::collect_pods(std::shared_ptr<const NodeState> state) {
  auto& m = *impl_;
  std::chrono::nanoseconds worked{0};
  auto slice_start = std::chrono::steady_clock::now();
  const auto began = m.clock.now();
  m.pass_memory = Bytes{};
  for (const auto& pod : state->pods) {
    if (is_measured(*pod)) m.measure_pod(*pod);
    const auto in_slice = std::chrono::steady_clock::now() - slice_start;
    if (in_slice < kSlice) continue;
    worked += in_slice;
    co_await asio::post(asio::use_awaitable);
    slice_start = std::chrono::steady_clock::now();
  }
  m.measure_system_memory(*state, began);
  m.drop_gone(*state);
  worked += std::chrono::steady_clock::now() - slice_start;
  m.last_collect = std::chrono::duration_cast<std::chrono::microseconds>(worked);
}

}  // namespace koordlet
