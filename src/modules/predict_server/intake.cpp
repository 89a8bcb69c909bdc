#include "modules/predict_server/intake.hpp"

#include <algorithm>
#include <array>

#include "modules/predict_server/model.hpp"
#include "store/window.hpp"

namespace koordlet::predict {
namespace {

constexpr unsigned kPercent = 90;
// A loop that holds rounds back must not grow the lists without end: an hour of seconds.
constexpr std::size_t kMostSamples = 3600;

void add(std::vector<std::int64_t>& to, std::int64_t value) {
  if (to.size() < kMostSamples) to.push_back(value);
}

std::optional<std::int64_t> close(std::vector<std::int64_t>& samples) {
  if (samples.empty()) return std::nullopt;
  const auto out = store::nearest_rank(samples, kPercent);
  samples.clear();
  return out;
}

std::optional<double> to_cores(const std::optional<std::int64_t>& milli) {
  return milli ? std::optional{static_cast<double>(*milli) / 1000} : std::nullopt;
}

std::optional<double> to_real(const std::optional<std::int64_t>& bytes) {
  return bytes ? std::optional{static_cast<double>(*bytes)} : std::nullopt;
}

}  // namespace

void Intake::note_node(const NodeSignals& s) {
  add(node_cpu_, s.node_used.v);
  if (s.memory_used) add(node_memory_, s.memory_used->v);
  if (s.kubepods_used)
    add(system_cpu_, std::max<std::int64_t>(0, s.node_used.v - s.kubepods_used->v));
}

void Intake::note_pods(const std::map<std::string, PodUsage>& pods) {
  pods_seen_ = true;
  for (const auto& [uid, usage] : pods) {
    auto& p = pods_[uid];
    if (p.at == usage.at) continue;
    p.at = usage.at;
    if (usage.cpu) add(p.cpu, usage.cpu->v);
    if (usage.memory) add(p.memory, usage.memory->v);
  }
}

void Intake::add_sums(const NodeState& state,
                      MonoTime now,
                      MonoTime::duration valid,
                      std::vector<Feed>& out) {
  std::map<PriorityClass, Sum> sums;
  std::int64_t all_memory = 0;
  bool memory_whole = true;
  for (const auto& pod : state.pods) {
    if (!is_active(*pod) || pod->cgroup.is_root()) continue;
    auto& sum = sums[priority_class_with_default(*pod)];
    sum.has_pods |= pod->phase == PodPhase::kRunning;
    const auto at = pods_.find(pod->uid);
    if (at == pods_.end() || now - at->second.at > valid) continue;
    const auto& p = at->second;
    if (p.cores_milli) {
      sum.cpu += *p.cores_milli;
      sum.has_cpu = true;
    }
    if (p.bytes) {
      sum.memory += *p.bytes;
      sum.has_memory = true;
      all_memory += *p.bytes;
    } else {
      memory_whole = false;
    }
  }
  for (const auto c : kClasses) {
    const auto& sum = sums[c];
    Feed feed{class_key(c), std::nullopt, std::nullopt};
    if (!sum.has_pods || sum.has_cpu) feed.cores = to_cores(sum.cpu);
    if (!sum.has_pods || sum.has_memory) feed.bytes = to_real(sum.memory);
    if (feed.cores || feed.bytes) out.push_back(std::move(feed));
  }
  add_system(memory_whole ? std::optional{all_memory} : std::nullopt, out);
}

void Intake::add_system(std::optional<std::int64_t> pods_memory, std::vector<Feed>& out) {
  Feed feed{std::string{kSystemKey}, to_cores(close(system_cpu_)), std::nullopt};
  if (pods_memory && node_memory_now_)
    feed.bytes = static_cast<double>(std::max<std::int64_t>(0, *node_memory_now_ - *pods_memory));
  if (feed.cores || feed.bytes) out.push_back(std::move(feed));
}

std::vector<Feed> Intake::take(const NodeState& state, MonoTime now, MonoTime::duration valid) {
  std::vector<Feed> out;
  node_memory_now_ = close(node_memory_);
  Feed node{std::string{kNodeKey}, to_cores(close(node_cpu_)), to_real(node_memory_now_)};
  if (node.cores || node.bytes) out.push_back(std::move(node));
  std::erase_if(pods_, [&](const auto& p) { return find_pod(state, p.first) == nullptr; });
  for (const auto& pod : state.pods) {
    const auto at = pods_.find(pod->uid);
    if (at == pods_.end() || !is_active(*pod)) continue;
    auto& p = at->second;
    const auto cpu = close(p.cpu), memory = close(p.memory);
    if (cpu) p.cores_milli = cpu;
    if (memory) p.bytes = memory;
    if (cpu || memory) out.push_back({pod_key(pod->uid), to_cores(cpu), to_real(memory)});
  }
  if (pods_seen_ && state.pods_at != MonoTime{}) {
    add_sums(state, now, valid, out);
  } else {
    system_cpu_.clear();
  }
  return out;
}

}  // namespace koordlet::predict
