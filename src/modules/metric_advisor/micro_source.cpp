#include "modules/metric_advisor/micro_source.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "kernel/procfs.hpp"

namespace koordlet {
namespace {

/// Values stand in the order of interference_events(): cycles, instructions, LLC references, LLC
/// misses (the last two are left out on some CPUs).
bool fill(MicroSource::Reading& out, const kernel::PerfCounts& counts) {
  const auto at = [&](std::size_t i) {
    return i < counts.values.size() ? counts.values[i] : std::nullopt;
  };
  const auto cycles = at(0), instructions = at(1);
  if (!cycles || !instructions || *instructions <= 0) return false;
  out.cycles = *cycles;
  out.instructions = *instructions;
  out.llc_references = at(2);
  out.llc_misses = at(3);
  return true;
}

struct Subject {
  const Pod* pod;
  const Container* container;
  std::string id;
};

std::vector<Subject> running_containers(const std::vector<const Pod*>& pods) {
  std::vector<Subject> out;
  for (const auto* pod : pods) {
    for (const auto& c : pod->containers) {
      if (c.cgroup && c.running) out.push_back({pod, &c, fmt::format("{}://{}", c.runtime, c.id)});
    }
  }
  std::sort(out.begin(), out.end(), [](const Subject& a, const Subject& b) { return a.id < b.id; });
  return out;
}

}  // namespace

MicroSource::MicroSource(Config config,
                         kernel::HostRoots roots,
                         CgroupVersion version,
                         kernel::CgroupCounters& counters)
    : config_{config}, roots_{std::move(roots)}, version_{version}, counters_{counters} {}

void MicroSource::open() {
  if (!config_.enable) {
    why_not_ = "switched off";
    return;
  }
  events_ = kernel::interference_events(roots_);
  const auto there = kernel::probe_perf_events(events_);
  if (!there) {
    const auto code = there.error().code;
    unsupported_ = code == Errc::kNotFound || code == Errc::kNotSupported;
    why_not_ = unsupported_ ? "this machine has no hardware counters" : there.error().context;
    return;
  }
  if (!kernel::perf_cgroup_directory(roots_, version_, CgroupPath{})) {
    why_not_ = "the perf_event hierarchy is not mounted";
    return;
  }
  const auto cpus = kernel::read_topology(roots_);
  if (!cpus) {
    why_not_ = cpus.error().context;
    return;
  }
  for (const auto& c : *cpus) cpus_.add(c.cpu);
  why_not_.clear();
}

bool MicroSource::is_due(MonoTime now, std::chrono::seconds interval) const {
  return why_not_.empty() && groups_.empty() && (!started_ || now - *started_ >= interval);
}

void MicroSource::start(const std::vector<const Pod*>& pods, MonoTime now) {
  started_ = now;
  auto subjects = running_containers(pods);
  const auto first = std::find_if(
      subjects.begin(), subjects.end(), [&](const Subject& s) { return s.id >= next_id_; });
  std::rotate(subjects.begin(), first, subjects.end());
  next_id_.clear();
  const auto each = static_cast<std::size_t>(cpus_.count()) * events_.size() + 1;
  std::size_t left = config_.descriptor_budget / each;
  for (const auto& s : subjects) {
    if (left == 0) {
      next_id_ = s.id;
      return;
    }
    const auto directory = kernel::perf_cgroup_directory(roots_, version_, *s.container->cgroup);
    if (!directory) continue;
    auto group = kernel::PerfGroup::open(*directory, events_, cpus_);
    if (!group && group.error().code == Errc::kBusy) {
      next_id_ = s.id;
      return;
    }
    const auto usage = counters_.cpu(*s.container->cgroup);
    if (!group || !usage || !group->start()) continue;  // gone meanwhile: it has no sample
    Reading subject;
    subject.pod_uid = s.pod->uid;
    subject.container = s.container->name;
    subject.id = s.id;
    groups_.push_back({std::move(subject), *s.container->cgroup, usage->usage, std::move(*group)});
    --left;
  }
}

std::vector<MicroSource::Reading> MicroSource::finish(MonoTime now) {
  std::vector<Reading> out;
  if (groups_.empty() || !started_ || now - *started_ < config_.window) return out;
  for (auto& group : groups_) {
    const auto counts = group.counters.stop_and_read();
    const auto usage = counters_.cpu(group.cgroup);
    if (!counts || !usage || usage->usage < group.usage_before) continue;
    if (!fill(group.subject, *counts)) continue;
    group.subject.length = now - *started_;
    group.subject.used =
        MilliCpu{(usage->usage - group.usage_before) * 1000 / group.subject.length};
    out.push_back(std::move(group.subject));
  }
  groups_.clear();
  if (!out.empty()) last_read_ = now;
  return out;
}

}  // namespace koordlet
