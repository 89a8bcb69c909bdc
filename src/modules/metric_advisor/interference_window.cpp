#include <algorithm>

#include "modules/metric_advisor/impl.hpp"
#include "modules/metric_advisor/interference_impl.hpp"

namespace koordlet {
namespace {

/// Cgroups whose tasks belong to the pod: its own and those of its containers.
void add_cgroups(const Pod& pod, std::vector<CgroupPath>& out) {
  out.push_back(pod.cgroup);
  for (const auto& c : pod.containers) {
    if (c.cgroup) out.push_back(*c.cgroup);
  }
}

}  // namespace

bool is_latency_sensitive(const Pod& pod) {
  return is_measured(pod) && !is_best_effort(pod) && qos_with_default(pod) != QosClass::kSystem;
}

const std::string& baseline_owner(const Pod& pod) {
  return pod.owner && !pod.owner->uid.empty() ? pod.owner->uid : pod.uid;
}

void InterferenceWatch::Impl::mark_best_effort(const NodeState& state) {
  std::vector<CgroupPath> all;
  for (const auto& pod : state.pods) {
    if (is_measured(*pod) && is_best_effort(*pod)) add_cgroups(*pod, all);
  }
  const auto ok = run_queue.set_best_effort(all);
  if (run_queue.kind() != RunQueueSource::Kind::kNone)
    note("run queue", ok ? std::string{} : ok.error().context);
}

void InterferenceWatch::Impl::read_suspects(const NodeState& state) {
  suspect_use.clear();
  for (const auto& pod : state.pods) {
    if (!is_measured(*pod) || !is_best_effort(*pod)) continue;
    const auto usage = counters.cpu(pod->cgroup);
    if (!usage) {
      suspects.erase(pod->uid);
      continue;
    }
    const auto used = suspects[pod->uid].update({clock.now(), usage->usage}, ceiling);
    if (used) suspect_use[pod->uid] = *used;
  }
}

void InterferenceWatch::Impl::read_micro(const NodeState& state, MonoTime now) {
  micro_samples.clear();
  for (const auto& r : micro.finish(now)) {
    MicroSample sample;
    sample.container = r.container;
    sample.cpi = r.cycles / r.instructions;
    if (r.llc_references && r.llc_misses && *r.llc_references > 0)
      sample.llc_miss_ratio = std::clamp(*r.llc_misses / *r.llc_references, 0.0, 1.0);
    sample.used = r.used;
    sample.id = r.id;
    sample.cycles = r.cycles;
    sample.instructions = r.instructions;
    emit_micro(r);
    micro_samples[r.pod_uid].push_back(std::move(sample));
  }
  const bool interfered = node && node->interfered;
  const auto interval = interfered ? config.ls_interval : config.perf_interval;
  if (!micro.is_due(now, interval)) return;
  std::vector<const Pod*> pods;
  for (const auto& pod : state.pods) {
    if (is_latency_sensitive(*pod)) pods.push_back(pod.get());
  }
  micro.start(pods, now);
}

void InterferenceWatch::Impl::read_stalls(const Pod& pod, Track& track, InterferenceWindow& out) {
  const auto read = [&](std::string_view resource, StallRate& rate) -> std::optional<StallShare> {
    const auto psi = counters.pressure(pod.cgroup, resource);
    if (!psi) {
      if (!is_gone(psi.error())) note("ls pod psi", psi.error());
      return std::nullopt;
    }
    note("ls pod psi", "");
    return rate.update(clock.now(), *psi);
  };
  out.cpu = read("cpu", track.cpu_stall);
  out.memory = read("memory", track.memory_stall);
  out.io = read("io", track.io_stall);
}

void InterferenceWatch::Impl::read_run_queue(const Pod& pod, InterferenceWindow& out) {
  std::vector<CgroupPath> cgroups;
  add_cgroups(pod, cgroups);
  const auto queue = run_queue.advance(cgroups);
  if (!queue) return;
  out.wait = queue->wait;
  out.dispatches = queue->dispatches;
  out.behind_best_effort = queue->behind_best_effort;
  if (!queue->slots) return;
  out.wait_p50 = kernel::quantile(*queue->slots, 0.5);
  out.wait_p95 = kernel::quantile(*queue->slots, 0.95);
  out.wait_p99 = kernel::quantile(*queue->slots, 0.99);
}

/// nullopt: the first window of this pod, or its cgroup is gone.
std::optional<InterferenceWindow> InterferenceWatch::Impl::read_window(
    const Pod& pod, Track& track, std::optional<MilliCpu> be_used) {
  InterferenceWindow out;
  const auto usage = counters.cpu(pod.cgroup);
  out.at = clock.now();
  if (!usage) {
    if (is_gone(usage.error())) {
      track = {};  // one made anew under the same name starts from nothing
    } else {
      note("ls pod cpu", usage.error());
      track.cpu.reset();
    }
    return std::nullopt;
  }
  const auto before = std::exchange(track.cpu, CpuReading{out.at, usage->usage});
  if (before && out.at > before->at && usage->usage >= before->usage) {
    out.length = out.at - before->at;
    out.run = usage->usage - before->usage;
    out.used = MilliCpu{static_cast<std::int64_t>(static_cast<__int128>(out.run->count()) * 1000 /
                                                  out.length.count())};
  }
  if (const auto t = counters.throttle(pod.cgroup))
    out.throttled = track.throttle.update(t->periods, t->throttled);
  read_stalls(pod, track, out);
  read_run_queue(pod, out);
  if (const auto at = micro_samples.find(pod.uid); at != micro_samples.end())
    out.micro = at->second;
  out.be_used = be_used;
  out.node_capacity = node_capacity;
  if (!before || out.length.count() <= 0) return std::nullopt;
  return out;
}

void InterferenceWatch::Impl::drop_gone(const NodeState& state) {
  std::vector<CgroupPath> alive;
  for (const auto& pod : state.pods) {
    if (is_measured(*pod)) add_cgroups(*pod, alive);
  }
  run_queue.keep_only(alive);
  const auto is_here = [&](const std::string& uid) {
    const auto* pod = find_pod(state, uid);
    return pod != nullptr && is_measured(*pod);
  };
  std::erase_if(tracks, [&](const auto& t) { return !is_here(t.first); });
  std::erase_if(suspects, [&](const auto& s) { return !is_here(s.first); });
  std::erase_if(pods, [&](const auto& p) { return !is_here(p.first); });
}

}  // namespace koordlet
