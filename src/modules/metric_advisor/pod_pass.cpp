#include <algorithm>

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include "kernel/cold_memory.hpp"
#include "modules/metric_advisor/impl.hpp"

namespace koordlet {
namespace {

namespace asio = boost::asio;

constexpr auto kSlice = std::chrono::microseconds{1000};  // work between two yields to the loop

std::string container_owner(const Container& c) { return fmt::format("{}://{}", c.runtime, c.id); }

/// Tenths of a percent: stored values are whole numbers.
std::int64_t permille(double percent) { return static_cast<std::int64_t>(percent * 10 + 0.5); }

}  // namespace

void MetricAdvisor::Impl::emit_workload(const std::string& prefix,
                                        const std::string& owner,
                                        const WorkloadUsage& u) {
  const auto put = [&](std::string_view kind, std::int64_t value) {
    emit(fmt::format("{}_{}", prefix, kind), owner, value);
  };
  if (u.cpu) put("cpu_usage", u.cpu->v);
  if (u.throttled) put("cpu_throttled", u.throttled->v);
  if (u.memory) put("memory_usage", u.memory->v);
  if (u.memory_with_cache) put("memory_usage_with_page_cache", u.memory_with_cache->v);
  if (u.working_set) put("memory_working_set", u.working_set->v);
  if (u.io) {
    put("io_read_bytes", u.io->read_bytes);
    put("io_write_bytes", u.io->write_bytes);
    put("io_reads", u.io->reads);
    put("io_writes", u.io->writes);
  }
  const auto stall = [&](std::string_view resource, const std::optional<StallShare>& s) {
    if (!s) return;
    const auto kind = prefix + "_psi";
    emit(kind, fmt::format("{}/{}/10/some", owner, resource), permille(s->some_percent));
    if (s->full_percent)
      emit(kind, fmt::format("{}/{}/10/full", owner, resource), permille(*s->full_percent));
  };
  stall("cpu", u.stalls.cpu);
  stall("mem", u.stalls.memory);
  stall("io", u.stalls.io);
  if (u.stalls.cpu) put("psi_cpu_full_supported", u.stalls.cpu->full_percent ? 1 : 0);
}

void MetricAdvisor::Impl::emit_cold_memory(const std::string& prefix,
                                           const std::string& owner,
                                           const CgroupPath& cgroup,
                                           const WorkloadUsage& u) {
  if (!node_usage.cold_memory) return;
  const auto cold = kernel::read_cold_memory(roots, version, cgroup);
  if (!cold) return;  // gone, or not counted for this one
  emit(prefix + "_memory_cold_page_size", owner, cold->v);
  if (!u.memory_with_cache) return;
  emit(prefix + "_memory_with_hot_page_usage",
       owner,
       std::max<std::int64_t>(0, u.memory_with_cache->v - cold->v));
}

void MetricAdvisor::Impl::measure_container(const Container& c) {
  const auto owner = container_owner(c);
  auto usage = workloads.measure(*c.cgroup);
  if (usage.source == CounterSource::kNone) {
    if (c.running) unread.push_back(owner);
    return;
  }
  emit_workload("container", owner, usage);
  emit_cold_memory("container", owner, *c.cgroup, usage);
  containers[owner] = std::move(usage);
}

void MetricAdvisor::Impl::measure_pod(const Pod& pod) {
  auto usage = workloads.measure(pod.cgroup);
  if (usage.source != CounterSource::kNone) {
    emit_workload("pod", pod.uid, usage);
    emit_cold_memory("pod", pod.uid, pod.cgroup, usage);
    // A pod whose memory could not be read leaves the system's share unknown; one that is gone uses
    // nothing.
    if (!usage.memory) {
      pass_memory.reset();
    } else if (pass_memory) {
      *pass_memory += *usage.memory;
    }
    if (usage.cpu || usage.memory) pods[pod.uid] = std::move(usage);
  }
  for (const auto& c : pod.containers) {
    if (c.cgroup) {
      measure_container(c);
    } else if (c.running && !c.id.empty()) {
      unread.push_back(container_owner(c));
    }
  }
}

void MetricAdvisor::Impl::take_notes() {
  for (const auto& [name, why] : workloads.take_notes()) {
    if (why) {
      fault(name, *why);
    } else {
      ok(name);
    }
  }
}

void MetricAdvisor::Impl::drop_gone(const NodeState& state) {
  std::erase_if(pods, [&](const auto& p) { return find_pod(state, p.first) == nullptr; });
  std::set<CgroupPath> alive;
  std::set<std::string> ids;
  for (const auto& pod : state.pods) {
    alive.insert(pod->cgroup);
    for (const auto& c : pod->containers) {
      if (c.cgroup) alive.insert(*c.cgroup);
      if (!c.id.empty()) ids.insert(container_owner(c));
    }
  }
  workloads.keep_only(alive);
  std::erase_if(containers, [&](const auto& c) { return !ids.contains(c.first); });
  std::erase_if(runtime_cpu, [&](const auto& c) { return !ids.contains(c.first); });
}

asio::awaitable<void> MetricAdvisor::collect_pods(std::shared_ptr<const NodeState> state) {
  auto& m = *impl_;
  std::chrono::nanoseconds worked{0};
  auto slice_start = std::chrono::steady_clock::now();
  const auto began = m.clock.now();
  m.pass_memory = Bytes{};
  m.unread.clear();
  m.workloads.begin_pass(m.layout ? std::optional{m.layout->kubepods()} : std::nullopt,
                         m.config.iterator);
  for (const auto& pod : state->pods) {
    if (is_measured(*pod)) m.measure_pod(*pod);
    const auto in_slice = std::chrono::steady_clock::now() - slice_start;
    if (in_slice < kSlice) continue;
    worked += in_slice;
    co_await asio::post(asio::use_awaitable);
    slice_start = std::chrono::steady_clock::now();
  }
  m.measure_system_memory(*state, began);
  m.emit_best_effort(*state);
  m.drop_gone(*state);
  m.take_notes();
  worked += std::chrono::steady_clock::now() - slice_start;
  m.last_collect = std::chrono::duration_cast<std::chrono::microseconds>(worked);
  co_await m.ask_runtime();
}

}  // namespace koordlet
