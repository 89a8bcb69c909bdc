#include "modules/node_reporter/report_build.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

namespace koordlet {
namespace {

using std::chrono::seconds;
using store::WindowAggregate;

constexpr std::string_view kNodeCpu = "node_cpu_usage";
constexpr std::string_view kSystemCpu = "sys_cpu_usage";
// The system's memory is without page cache whatever the policy says: the cache has no owner.
constexpr std::string_view kSystemMemory = "sys_memory_usage";
constexpr std::string_view kPodCpu = "pod_cpu_usage";
constexpr std::string_view kAppCpu = "host_application_cpu_usage";

struct MemoryKinds {
  std::string_view node, pod, app;
};
/// No kernel here tells hot cache from cold: the hot policy means "without", as it does in the
/// reference when its collector has not started.
MemoryKinds memory_kinds(MemoryCollectPolicy policy) {
  if (policy == MemoryCollectPolicy::kWithPageCache) {
    return {"node_memory_usage_with_page_cache",
            "pod_memory_usage_with_page_cache",
            "host_application_memory_usage_with_page_cache"};
  }
  return {"node_memory_usage", "pod_memory_usage", "host_application_memory_usage"};
}

NodeMetricSpec spec_of(const NodeState& state) {
  return state.metric ? *state.metric : NodeMetricSpec{};
}

/// The answers by what was asked. Refers to the input.
class Answers {
 public:
  explicit Answers(const ReportInput& input) {
    for (std::size_t i = 0; i < input.questions.size(); ++i) {
      const auto& [series, window] = input.questions[i];
      if (input.answers[i]) found_[{series.kind, series.owner, window}] = &*input.answers[i];
    }
  }
  const WindowAggregate* find(std::string_view kind, std::string_view owner, seconds window) const {
    const auto at = found_.find({kind, owner, window});
    return at == found_.end() ? nullptr : at->second;
  }
  /// Mean of both; each absent without samples.
  ResourceUse mean(std::string_view cpu,
                   std::string_view memory,
                   std::string_view owner,
                   seconds window) const {
    ResourceUse out;
    // Fractions are cut off, as the wire rule has it.
    if (const auto* a = find(cpu, owner, window)) {
      out.cpu = MilliCpu{static_cast<std::int64_t>(a->mean)};
    }
    if (const auto* a = find(memory, owner, window)) {
      out.memory = Bytes{static_cast<std::int64_t>(a->mean)};
    }
    return out;
  }
  std::vector<AggregatedUse> aggregated(std::string_view cpu,
                                        std::string_view memory,
                                        const std::vector<seconds>& durations) const;

 private:
  std::map<std::tuple<std::string_view, std::string_view, seconds>, const WindowAggregate*> found_;
};

/// A window that is less than half filled with CPU samples says nothing yet: its values are empty.
std::vector<AggregatedUse> Answers::aggregated(std::string_view cpu,
                                               std::string_view memory,
                                               const std::vector<seconds>& durations) const {
  std::vector<AggregatedUse> out;
  for (const auto d : durations) {
    AggregatedUse use;
    use.duration = d;
    const auto* c = find(cpu, "", d);
    const auto* m = find(memory, "", d);
    if (c != nullptr && m != nullptr && 2 * (c->last_at - c->first_at) >= d) {
      use.avg = mean(cpu, memory, "", d);
      use.p50 = {MilliCpu{c->p50}, Bytes{m->p50}};
      use.p90 = {MilliCpu{c->p90}, Bytes{m->p90}};
      use.p95 = {MilliCpu{c->p95}, Bytes{m->p95}};
      use.p99 = {MilliCpu{c->p99}, Bytes{m->p99}};
    }
    out.push_back(use);
  }
  return out;
}

bool is_whole(const ResourceUse& use) { return use.cpu && use.memory; }

/// A pod without samples is left out: consumers then count its request, while an entry without
/// values would count as a pod that uses nothing.
std::vector<PodUse> pod_uses(const NodeState& state,
                             const Answers& answers,
                             std::string_view memory,
                             seconds window,
                             std::size_t& left_out) {
  std::vector<PodUse> out;
  for (const auto& pod : state.pods) {
    const auto use = answers.mean(kPodCpu, memory, pod->uid, window);
    if (!is_whole(use)) {
      left_out += is_active(*pod) ? 1 : 0;
      continue;
    }
    out.push_back(
        {pod->ns, pod->name, use, priority_class_with_default(*pod), qos_with_default(*pod)});
  }
  std::sort(out.begin(), out.end(), [](const PodUse& a, const PodUse& b) {
    return std::tie(a.ns, a.name) < std::tie(b.ns, b.name);
  });
  return out;
}

std::vector<HostApplicationUse> application_uses(const NodeState& state,
                                                 const Answers& answers,
                                                 std::string_view memory,
                                                 seconds window) {
  std::vector<HostApplicationUse> out;
  if (!state.slo) return out;
  for (const auto& app : state.slo->host_applications) {
    const auto use = answers.mean(kAppCpu, memory, app.name, window);
    if (is_whole(use)) out.push_back({app.name, use, app.priority, app.qos});
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return out;
}

/// "" when both node series are there and fresh; `newest` is the older of their newest samples.
std::string node_fault(const Answers& answers,
                       std::string_view memory,
                       seconds window,
                       store::StoredTime now,
                       std::chrono::milliseconds limit,
                       store::StoredTime& newest) {
  newest = now;
  for (const auto kind : {kNodeCpu, memory}) {
    const auto* a = answers.find(kind, "", window);
    if (a == nullptr) return fmt::format("{}: no sample in the last {} s", kind, window.count());
    newest = std::min(newest, a->last_at);
    const auto age = now - a->last_at;
    if (age > limit) {
      return fmt::format(
          "{}: newest sample is {} ms old, limit {} ms", kind, age.count(), limit.count());
    }
  }
  return {};
}

}  // namespace

std::vector<ReportQuestion> report_questions(const NodeState& state) {
  const auto spec = spec_of(state);
  const auto memory = memory_kinds(spec.memory);
  std::vector<ReportQuestion> out;
  const auto ask = [&out](std::string_view kind, const std::string& owner, seconds window) {
    out.push_back({store::SeriesKey{std::string{kind}, owner}, window});
  };
  auto windows = spec.durations;
  windows.push_back(spec.aggregate);
  for (const auto window : windows) {
    for (const auto kind : {kNodeCpu, memory.node, kSystemCpu, kSystemMemory}) {
      ask(kind, "", window);
    }
  }
  for (const auto& pod : state.pods) {
    ask(kPodCpu, pod->uid, spec.aggregate);
    ask(memory.pod, pod->uid, spec.aggregate);
  }
  if (!state.slo) return out;
  for (const auto& app : state.slo->host_applications) {
    ask(kAppCpu, app.name, spec.aggregate);
    ask(memory.app, app.name, spec.aggregate);
  }
  return out;
}

std::variant<NodeReport, std::string> build_report(const ReportInput& input,
                                                   std::chrono::milliseconds node_limit) {
  if (input.answers.size() != input.questions.size()) {
    return fmt::format(
        "metrics: {} answers to {} questions", input.answers.size(), input.questions.size());
  }
  const auto& state = *input.state;
  if (state.pods_at == MonoTime{}) return std::string{"pods: not known yet"};
  const auto spec = spec_of(state);
  const auto memory = memory_kinds(spec.memory);
  const Answers answers{input};
  store::StoredTime newest{0};
  auto fault = node_fault(answers, memory.node, spec.aggregate, input.now, node_limit, newest);
  if (!fault.empty()) return fault;

  NodeReport out;
  out.collected_at =
      input.wall - std::chrono::duration_cast<WallTime::duration>(input.now - newest);
  out.node = answers.mean(kNodeCpu, memory.node, "", spec.aggregate);
  out.node_aggregated = answers.aggregated(kNodeCpu, memory.node, spec.durations);
  out.system = answers.mean(kSystemCpu, kSystemMemory, "", spec.aggregate);
  out.system_aggregated = answers.aggregated(kSystemCpu, kSystemMemory, spec.durations);
  std::size_t without_samples = 0;
  out.pods = pod_uses(state, answers, memory.pod, spec.aggregate, without_samples);
  out.host_applications = application_uses(state, answers, memory.app, spec.aggregate);
  out.prod_reclaimable = input.prod_reclaimable;
  out.prod_peak = input.prod_peak;
  if (!is_whole(out.system)) out.health.push_back("system use: no samples");
  if (without_samples > 0) {
    out.health.push_back(fmt::format("{} active pods without samples", without_samples));
  }
  return out;
}

}  // namespace koordlet
