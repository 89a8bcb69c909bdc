#include "modules/metric_advisor/run_queue_source.hpp"

#include <algorithm>
#include <set>

#include "kernel/fd.hpp"

namespace koordlet {
namespace {

using kernel::RunQueueCounters;

/// Slot by slot; nullopt when one went back: the counters were made anew.
std::optional<kernel::LatencySlots> difference(const std::optional<kernel::LatencySlots>& before,
                                               const std::optional<kernel::LatencySlots>& now) {
  if (!now) return std::nullopt;
  auto out = *now;
  if (!before) return out;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i] < (*before)[i]) return std::nullopt;
    out[i] -= (*before)[i];
  }
  return out;
}

std::optional<std::chrono::nanoseconds> difference(
    const std::optional<std::chrono::nanoseconds>& before,
    const std::optional<std::chrono::nanoseconds>& now) {
  if (!before || !now || *now < *before) return std::nullopt;
  return *now - *before;
}

std::optional<RunQueueCounters> difference(const RunQueueCounters& before,
                                           const RunQueueCounters& now) {
  if (now.wait < before.wait || now.dispatches < before.dispatches) return std::nullopt;
  RunQueueCounters out;
  out.wait = now.wait - before.wait;
  out.dispatches = now.dispatches - before.dispatches;
  out.run = difference(before.run, now.run);
  out.slots = difference(before.slots, now.slots);
  out.behind_best_effort = difference(before.behind_best_effort, now.behind_best_effort);
  return out;
}

template <class T, class Add>
void add(std::optional<T>& sum, const std::optional<T>& part, bool first, Add&& add_to) {
  if (first) {
    sum = part;
  } else if (sum && part) {
    add_to(*sum, *part);
  } else {
    sum.reset();  // a sum without one of its parts is not the sum
  }
}

void add(RunQueueCounters& sum, const RunQueueCounters& part, bool first) {
  const auto plus = [](auto& a, const auto& b) { a += b; };
  sum.wait += part.wait;
  sum.dispatches += part.dispatches;
  add(sum.run, part.run, first, plus);
  add(sum.behind_best_effort, part.behind_best_effort, first, plus);
  add(sum.slots, part.slots, first, [](auto& a, const auto& b) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  });
}

}  // namespace

RunQueueSource::RunQueueSource(const kernel::HostRoots& roots, kernel::Cgroups& cgroups)
    : cgroups_{cgroups}, threads_{roots, cgroups.version()} {
  if (const auto own = kernel::read_file(roots.proc + "/self/schedstat")) {
    kind_ = Kind::kSchedStat;
  } else {
    why_not_ = own.error().context;
  }
}

void RunQueueSource::open(bool bpf) {
  if (!bpf) {
    why_not_ = "switched off";
    return;
  }
  auto probe = kernel::SchedLatency::open(cgroups_.version());
  if (!probe) {
    why_not_ = probe.error().context;
    return;
  }
  bpf_ = std::move(*probe);
  kind_ = Kind::kBpf;
  why_not_.clear();
}

std::string RunQueueSource::name() const {
  switch (kind_) {
    case Kind::kBpf:
      return "bpf";
    case Kind::kSchedStat:
      return "schedstat";
    case Kind::kNone:
      break;
  }
  return "none";
}

/// A cgroup that was removed and made anew under its name is another one, with counters of its own:
/// the table of BPF would go on answering "no wait" for the old one for ever.
RunQueueSource::Known* RunQueueSource::find(const CgroupPath& path) {
  const auto id = cgroups_.inode({path, CgroupFile::kCpuMax});
  const auto at = known_.find(path);
  if (!id) {
    if (at != known_.end()) known_.erase(at);
    return nullptr;
  }
  if (at == known_.end()) return &known_.emplace(path, Known{*id, std::nullopt}).first->second;
  if (at->second.id != *id) at->second = Known{*id, std::nullopt};
  return &at->second;
}

Result<void> RunQueueSource::set_best_effort(const std::vector<CgroupPath>& cgroups) {
  if (!bpf_) return {};
  std::vector<kernel::Inode> ids;
  for (const auto& path : cgroups) {
    if (const auto* known = find(path)) ids.push_back(known->id);
  }
  return bpf_->set_best_effort(ids);
}

std::optional<RunQueueCounters> RunQueueSource::read(const CgroupPath& path, Known& known) {
  if (bpf_) {
    auto counters = bpf_->read(known.id);
    if (!counters) return std::nullopt;
    // No task of it waited yet: that is a reading, and it is zero.
    if (!*counters) {
      RunQueueCounters none;
      none.slots.emplace();
      none.behind_best_effort.emplace(0);
      return none;
    }
    return **counters;
  }
  const auto counters = threads_.read(path);
  return counters ? std::optional{*counters} : std::nullopt;
}

std::optional<RunQueueCounters> RunQueueSource::advance(const std::vector<CgroupPath>& cgroups) {
  if (kind_ == Kind::kNone) return std::nullopt;
  RunQueueCounters sum;
  bool any = false;
  for (const auto& path : cgroups) {
    auto* known = find(path);
    if (known == nullptr) continue;
    const auto now = read(path, *known);
    if (!now) {
      known_.erase(path);
      continue;
    }
    const auto before = std::exchange(known->last, now);
    if (!before) continue;
    const auto step = difference(*before, *now);
    if (!step) continue;
    add(sum, *step, !any);
    any = true;
  }
  return any ? std::optional{sum} : std::nullopt;
}

void RunQueueSource::keep_only(const std::vector<CgroupPath>& cgroups) {
  const std::set<CgroupPath> alive{cgroups.begin(), cgroups.end()};
  std::erase_if(known_, [&](const auto& k) {
    if (alive.contains(k.first)) return false;
    threads_.forget(k.first);
    return true;
  });
  if (!bpf_) return;
  std::vector<kernel::Inode> ids;
  for (const auto& [path, known] : known_) ids.push_back(known.id);
  std::sort(ids.begin(), ids.end());
  static_cast<void>(bpf_->keep_only(ids));  // what stays costs a table entry and is tried again
}

}  // namespace koordlet
