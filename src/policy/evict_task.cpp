#include "policy/evict_task.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "policy/be_view.hpp"
#include "policy/evict_victims.hpp"

namespace koordlet::policy {
namespace {

using Verdict = EvictTask::Verdict;
using R = EvictResource;

void blind(EvictTask& task, std::string why) {
  task.verdict = Verdict::kBlind;
  task.why = std::move(why);
}

int permyriad(std::int64_t part, std::int64_t whole) {
  return static_cast<int>(std::clamp<Wide>(Wide{part} * 10'000 / whole, 0, 10'000));
}

void need_of(EvictTask& task, R resource, const EvictNeed& need) {
  task.verdict = Verdict::kOver;
  task.need[resource] = need.need;
  task.rescue[resource] = need.rescue;
}

/// Use of memory or CPU over a threshold of the node's size.
void judge_use(
    EvictTask& task, R resource, std::int64_t used, std::int64_t size, const UseMarks& marks) {
  task.verdict = Verdict::kIdle;
  task.use_permyriad = permyriad(used, size);
  const auto need = use_need(used, size, marks);
  if (!need) return;
  need_of(task, resource, *need);
  task.why = fmt::format("node {} {}.{:02} % >= {} %",
                         resource == R::kMemoryUsed ? "memory" : "CPU",
                         task.use_permyriad / 100,
                         task.use_permyriad % 100,
                         marks.threshold_percent);
  task.to_mark = fmt::format("over the lower mark {} %", marks.lower());
}

void judge_memory(EvictTask& task, const Snapshot& snap, const EffectiveConfig& config) {
  const NodeSignals& s = *snap.signals;
  if (!s.memory_used || !s.memory_total || s.memory_total->v <= 0) {
    return blind(task, "the node's memory is unknown");
  }
  judge_use(task, R::kMemoryUsed, memory_in_use(snap)->v, s.memory_total->v, config.memory_evict);
}

std::string short_window(const CpuWindow& window, std::chrono::seconds length) {
  return fmt::format("CPU samples of {} s, expected a third of the window of {} s",
                     std::chrono::duration_cast<std::chrono::seconds>(window.covered()).count(),
                     length.count());
}

void judge_cpu(EvictTask& task,
               const Snapshot& snap,
               const EffectiveConfig& config,
               const CpuWindow& window) {
  const auto capacity = capacity_of(snap);
  if (!capacity) return blind(task, "the node's CPU capacity is unknown");
  const std::chrono::seconds length{config.evict.cpu_window_seconds};
  const auto mean = window.node_mean();
  if (!mean || !window.covers(length)) return blind(task, short_window(window, length));
  judge_use(task, R::kCpuUsed, mean->v, capacity->v, config.cpu_evict);
}

void judge_be_cpu(EvictTask& task,
                  const Snapshot& snap,
                  const EffectiveConfig& config,
                  const CpuWindow& window) {
  const auto last = be_load(snap, config);
  if (!last) return blind(task, "use, request or limit of BE is unknown");
  const std::chrono::seconds length{config.evict.cpu_window_seconds};
  const auto mean = window.be_mean();
  if (!mean || !window.covers_be(length)) return blind(task, short_window(window, length));
  task.verdict = Verdict::kIdle;
  const auto need = be_cpu_need(*mean, *last, config.be_cpu_evict);
  if (mean->request > 0) task.use_permyriad = permyriad(mean->limit, mean->request);
  if (!need) return;
  need_of(task, R::kBatchCpu, *need);
  task.why = fmt::format("BE may use {} m of {} m requested, {}.{:02} % <= {} %, and uses {} m",
                         mean->limit,
                         mean->request,
                         task.use_permyriad / 100,
                         task.use_permyriad % 100,
                         config.be_cpu_evict.lower_percent,
                         mean->used);
  task.to_mark = fmt::format("too much requested for {} %", config.be_cpu_evict.upper_percent);
}

struct Offer {
  R resource;
  std::optional<std::int64_t> amount;  ///< nullopt: the node does not say
};

template <class T>
std::optional<std::int64_t> raw(const std::optional<T>& v) {
  return v ? std::optional{v->v} : std::nullopt;
}

std::array<Offer, 3> offers(const Node& node, bool memory) {
  if (memory) {
    return {Offer{R::kBatchMemory, raw(node.batch_memory_allocatable)},
            Offer{R::kMidMemory, raw(node.mid_memory_allocatable)},
            Offer{R::kMemory, raw(node.memory_allocatable)}};
  }
  return {Offer{R::kBatchCpu, raw(node.batch_cpu_allocatable)},
          Offer{R::kMidCpu, raw(node.mid_cpu_allocatable)},
          Offer{R::kCpu, raw(node.cpu_allocatable)}};
}

/// What is asked for by the pods up to the priority bound.
EvictAmounts bounded_requests(const Snapshot& snap, int bound) {
  EvictAmounts sum;
  for (const auto& pod : snap.state->pods) {
    if (is_active(*pod) && priority_value(*pod) <= bound) sum += request_amounts(*pod);
  }
  return sum;
}

void judge_allocatable(EvictTask& task,
                       const Snapshot& snap,
                       const EffectiveConfig& config,
                       const AllocatableEvictConfig& marks) {
  if (!snap.state->node) return blind(task, "the node is unknown");
  if (!config.evict.allocatable_priority_threshold) return blind(task, "no priority bound is set");
  task.verdict = Verdict::kIdle;
  const auto sum = bounded_requests(snap, *config.evict.allocatable_priority_threshold);
  for (const auto& offer : offers(*snap.state->node, is_memory_plugin(task.plugin))) {
    // An offer that the node does not state is unknown, which is not 0.
    if (!offer.amount) continue;
    const auto need = request_need(sum[offer.resource], *offer.amount, marks);
    if (!need) continue;
    need_of(task, offer.resource, *need);
    EvictAmounts asked, offered;
    asked[offer.resource] = sum[offer.resource];
    offered[offer.resource] = *offer.amount;
    task.why += fmt::format("{}{} requested of {}, more than {} %",
                            task.why.empty() ? "" : "; ",
                            amounts_text(asked, asked),
                            amounts_text(offered, asked),
                            marks.threshold_percent);
  }
  task.to_mark = fmt::format("over the lower mark {} %", marks.lower_percent);
}

}  // namespace

std::optional<BeCpuLoad> be_load(const Snapshot& snap, const EffectiveConfig& config) {
  const auto limit =
      config.be_cpu_evict.by_allocatable ? be_allocatable_limit(snap) : be_real_limit(snap);
  if (!limit || !snap.signals || !snap.signals->be_used) return std::nullopt;
  return BeCpuLoad{snap.signals->be_used->v, be_request(snap).v, limit->v};
}

EvictTask judge(EvictPlugin plugin,
                const Snapshot& snap,
                const EffectiveConfig& config,
                const CpuWindow& window) {
  EvictTask out;
  out.plugin = plugin;
  if (!is_enabled(plugin, config)) return out;
  switch (plugin) {
    case EvictPlugin::kBeMemory:
    case EvictPlugin::kMemory:
      judge_memory(out, snap, config);
      break;
    case EvictPlugin::kMemoryAllocatable:
      judge_allocatable(out, snap, config, config.memory_allocatable_evict);
      break;
    case EvictPlugin::kBeCpu:
      judge_be_cpu(out, snap, config, window);
      break;
    case EvictPlugin::kCpuAllocatable:
      judge_allocatable(out, snap, config, config.cpu_allocatable_evict);
      break;
    case EvictPlugin::kCpu:
      judge_cpu(out, snap, config, window);
      break;
  }
  return out;
}

std::string bytes_text(Bytes bytes) {
  struct Unit {
    const char* name;
    std::int64_t size;
  };
  for (const auto& unit :
       {Unit{"GiB", 1ll << 30}, Unit{"MiB", 1ll << 20}, Unit{"KiB", 1ll << 10}}) {
    if (bytes.v < unit.size) continue;
    const auto tenths = static_cast<std::int64_t>(Wide{bytes.v} * 10 / unit.size);
    return fmt::format("{}.{} {}", tenths / 10, tenths % 10, unit.name);
  }
  return fmt::format("{} B", bytes.v);
}

std::string amounts_text(const EvictAmounts& amounts, const EvictAmounts& which) {
  std::string out;
  for (const R r : kAllEvictResources) {
    if (which[r] == 0) continue;
    out += out.empty() ? "" : ", ";
    out += is_memory(r) ? bytes_text(Bytes{amounts[r]}) : fmt::format("{} m", amounts[r]);
    if (r != R::kMemoryUsed) out += fmt::format(" {}", to_string(r));
  }
  return out;
}

}  // namespace koordlet::policy
