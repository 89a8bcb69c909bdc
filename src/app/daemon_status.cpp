#include <fmt/format.h>

#include "app/age.hpp"
#include "app/daemon_impl.hpp"
#include "base/log.hpp"
#include "policy/pressure.hpp"

namespace koordlet::app {

using std::chrono::milliseconds;

bool Daemon::ready(std::vector<std::string>* why) const {
  std::vector<std::string> reasons;
  if (paused_)
    reasons.emplace_back("restored by request: koordlet only watches until it is started again");
  if (!signals_) reasons.emplace_back("no node sample yet");
  const auto state = states_->state();
  if (state->pods_at == MonoTime{}) reasons.emplace_back("pods: not read yet");
  if (state->slo_at == MonoTime{}) reasons.emplace_back("NodeSLO: not read yet");
  if (!state->node) reasons.emplace_back("no Node object: the node's size is unknown");
  if (!states_->layout()) reasons.emplace_back("no kubepods cgroup yet");
  if (why != nullptr) *why = reasons;
  return reasons.empty();
}

void Daemon::add_inputs(StatusView& v) const {
  const auto state = states_->state();
  v.state = state;
  v.signals = signals_;
  v.pods = advisor_->pods();
  v.faults = state->faults;
  for (const auto& f : qos_->status().effective.faults) v.faults.push_back(f);
  const auto limit = std::chrono::seconds{config_.qos.policy.node_stale_seconds};
  const auto signals_age = signals_ ? age_of(signals_->at, v.now) : std::nullopt;
  v.ages.push_back({"signals", signals_age, !signals_age || *signals_age > limit});
  v.ages.push_back({"pods", age_of(state->pods_at, v.now), false});
  v.ages.push_back(
      {"node", state->node ? age_of(state->node_at, v.now) : std::nullopt, !state->node});
  v.ages.push_back({"nodeslo", state->slo ? age_of(state->slo_at, v.now) : std::nullopt, false});
  for (const auto& r : states_->health()) {
    v.resources.push_back({r.name,
                           r.synced,
                           r.cached,
                           age_of(r.confirmed_at, v.now),
                           r.fault,
                           r.lists,
                           r.watches,
                           r.events,
                           r.bookmarks,
                           r.relists,
                           r.failures,
                           r.resource_version});
  }
  control_->fill(v);
  const auto add_sources = [&v](const std::vector<MetricAdvisor::SourceHealth>& all) {
    for (const auto& h : all) {
      v.sources.push_back({h.name,
                           h.fault,
                           h.last_ok == MonoTime{} ? std::nullopt : std::optional{h.last_ok},
                           h.unsupported});
    }
  };
  add_sources(advisor_->health());
  add_sources(interference_->health());
}

void Daemon::add_qos(StatusView& v) const {
  const auto& s = qos_->status();
  auto& q = v.qos;
  q.off = s.effective.off;
  q.dry_run = config_.executor.dry_run;
  q.profile = config_.qos.policy.pressure_profile ? "pressure" : "koordinator";
  q.level = policy::to_string(s.pressure.level);
  q.level_since = s.pressure.level_since;
  q.use_permyriad = s.pressure.use_permyriad;
  q.factor_permille = s.pressure.factor_permille;
  q.below_exit = s.pressure.below_exit;
  q.level_by_use = policy::to_string(s.pressure.by_use);
  if (s.pressure.raise.level > s.pressure.by_use) q.raised_by = s.pressure.raise.reason;
  for (const auto& [uid, until] : s.pressure.raise.ignored) q.not_caused_by_be.push_back(uid);
  if (const auto cap = root_cap()) {
    q.be_root_cap_milli = cap->v;
    q.cap_ls_used_milli = s.pressure.root_ls_used.v;
    q.cap_system_used_milli = s.pressure.root_system_used.v;
  }
  if (s.suppress.budget) q.suppress_budget_milli = s.suppress.budget->v;
  if (s.suppress.cpuset) q.suppress_cpuset = s.suppress.cpuset->to_string();
  q.hold_seconds = s.pressure.hold_seconds;
  q.hold_until = s.pressure.hold_until;
  q.uncapped = s.pressure.uncapped;
  q.stale = s.stale;
  q.ticks = s.ticks;
  q.level_changes = s.level_changes;
  q.effective = s.effective;
  add_levers(q);
  q.idle_buffer = s.idle_buffer;
  q.burst = s.burst.summary;
  q.memory_qos = s.memory_qos.summary;
  q.memory_soften = s.memory_soften;
  const auto& reclaims = reclaimer_->counters();
  q.reclaims = {reclaims.done, reclaims.part, reclaims.failed};
  v.desired = &qos_->desired();
  v.audit = &audit_;
  add_evictions(v);
}

void Daemon::add_evictions(StatusView& v) const {
  const auto& evict = qos_->status().evict;
  for (const auto plugin : policy::kAllEvictPlugins) {
    const auto& rule = evict.rule(plugin);
    StatusView::EvictionRule out;
    out.plugin = policy::to_string(plugin);
    out.phase = policy::to_string(rule.phase);
    out.why = rule.why;
    out.use_permyriad = rule.use_permyriad;
    out.candidates = rule.candidates;
    for (const auto r : kAllEvictResources) {
      if (rule.need[r] == 0) continue;
      out.amounts.push_back(
          {std::string{to_string(r)}, rule.need[r], rule.pending[r], rule.reachable[r]});
    }
    if (v.eviction_hold.empty() && !rule.why.empty()) {
      v.eviction_hold = fmt::format("{}: {}: {}", out.plugin, out.phase, rule.why);
    }
    v.eviction_rules.push_back(std::move(out));
  }
  v.eviction_standing = [this](const Pod& pod) {
    Snapshot snapshot;
    snapshot.now = clock_.now();
    snapshot.state = states_->state();
    // Only its own sample is looked at: all of them would be copied for each request.
    if (const auto own = advisor_->pods().find(pod.uid); own != advisor_->pods().end()) {
      snapshot.pods.emplace(*own);
    }
    std::vector<StatusView::EvictionStanding> out;
    for (auto& s : qos_->standing(snapshot, pod)) {
      out.push_back({std::string{policy::to_string(s.plugin)}, std::move(s.why_not)});
    }
    return out;
  };
}

void Daemon::add_executor(StatusView& v) const {
  for (const auto& h : executor_->held()) {
    v.held.push_back({h.key,
                      cgroups_->file(h.key),
                      h.kernel,
                      h.original,
                      h.value,
                      h.plugin,
                      h.reason,
                      h.since,
                      h.foreign_writes,
                      h.contested,
                      h.last,
                      h.losers});
  }
  v.outcomes = last_outcomes_;
  const auto& c = executor_->counters();
  v.executor = {c.batches,
                c.writes,
                c.unchanged,
                c.refused,
                c.gone,
                c.unsupported,
                c.foreign,
                c.restored,
                c.journal_failures,
                c.last_batch,
                c.last_commit};
  add_units(v);
  v.helpers.push_back({"storage", storage_->queued(), storage_->busy_for(v.now)});
  v.helpers.push_back({"reclaim", reclaim_->queued(), reclaim_->busy_for(v.now)});
  v.read_cpu_max = [this](const CgroupPath& path) -> std::optional<StatusView::CpuLimit> {
    const CgroupKey key{path, CgroupFile::kCpuMax};
    const auto value = cgroups_->read(key);
    if (!value) return std::nullopt;
    return StatusView::CpuLimit{std::get<CpuMax>(*value), cgroups_->file(key)};
  };
}

void Daemon::add_interference(StatusView& v) const {
  v.containers = &advisor_->containers();
  v.node_usage = &advisor_->node_usage();
  auto& out = v.interference;
  out.enabled = config_.interference.enable;
  out.run_queue_source = interference_->run_queue_source();
  out.run_queue_fault = interference_->run_queue_fault();
  out.perf_fault = interference_->perf_fault();
  out.counter_source = advisor_->cgroup_source();
  out.counter_fault = advisor_->cgroup_source_fault();
  out.window = config_.interference.ls_interval;
  out.baselines = interference_->baselines();
  out.pods = &interference_->pods();
  out.node = interference_->node();
  for (const auto& [path, w] : pressure_watches_)
    out.triggers.push_back({path, w.trigger, w.fault, w.events});
}

void Daemon::add_figures(StatusView& v) const {
  const auto cache = cache_->stats();
  if (const auto& free = qos_->status().memory_qos.summary.available) {
    v.gauge("memory_available_bytes",
            static_cast<double>(free->v),
            "MemAvailable without the page cache that memory.min protects.");
  }
  v.gauge("metric_cache_used_bytes",
          static_cast<double>(cache.used_bytes),
          "Bytes in use in the metric store.");
  v.gauge("metric_cache_map_bytes",
          static_cast<double>(cache.map_bytes),
          "Size bound of the metric store.");
  v.gauge("metric_cache_last_commit_seconds",
          std::chrono::duration<double>(cache.last_commit).count(),
          "Duration of the last commit on the storage thread.");
  v.gauge("cgroup_open_files",
          static_cast<double>(advisor_->open_files() + interference_->open_files()),
          "Control files kept open for reading.");
  v.counter("metric_cache_batches_total", cache.batches, "Batches stored.");
  v.counter("metric_cache_samples_total", cache.samples, "Samples stored.");
  v.counter(
      "metric_cache_dropped_batches_total", cache.dropped_batches, "Batches lost to a full queue.");
  v.counter("metric_cache_dropped_rows_total",
            cache.dropped_rows,
            "Rows dropped from a full store, oldest first.");
  v.gauge("metric_cache_longest_step_seconds",
          std::chrono::duration<double>(cache.longest_step).count(),
          "Longest hold of the storage thread by a step of sealing or rolling up, since start.");
  v.counter("metric_cache_maintain_steps_total",
            cache.maintain_steps,
            "Steps of sealing, rolling up and dropping.");
  v.counter("metric_cache_damaged_rows_total",
            cache.damaged_rows,
            "Rows and blocks of the metric store that could not be read, skipped.");
  v.counter("metric_cache_refused_samples_total",
            cache.refused_samples,
            "Samples of series whose names are too long.");
  v.counter("metric_cache_errors_total", cache.errors, "Failed store operations.");
  v.counter("log_dropped_lines_total", log::dropped(), "Log lines lost to a full queue.");
  if (const auto& t = cache.totals) {
    v.history = {t->series,
                 t->rows,
                 t->seals,
                 t->rolled_minutes,
                 t->sealed_series,
                 t->sealed_samples,
                 cache.used_bytes,
                 cache.map_bytes,
                 cache.dropped_rows,
                 cache.dropped_batches,
                 cache.damaged_rows,
                 cache.refused_samples};
  }
  v.stages = stages_;
  const auto loop = watchdog_->stats();
  v.loop_late = loop.last_late;
  v.loop_late_max = loop.max_late;
  v.gauge("loop_longest_handler_seconds",
          std::chrono::duration<double>(loop.longest_handler).count(),
          "CPU time of the longest handler of the loop since start.");
  v.counter(
      "loop_stuck_total", loop.stuck, "Times the loop was silent long enough to dump its stack.");
  v.missed_ticks = missed_ticks_;
}

StatusView Daemon::view() const {
  StatusView v;
  v.now = clock_.now();
  v.wall = clock_.wall();
  v.version = KOORDLET_VERSION;
  v.boot_id = boot_id_;
  v.listen = api_->listen_address();
  v.uptime = std::chrono::duration_cast<milliseconds>(v.now - started_);
  v.cgroup_version = version_;
  if (const auto layout = states_->layout()) v.driver = layout->driver();
  v.ready = ready(&v.not_ready);
  add_inputs(v);
  if (v.state->node) v.node_name = v.state->node->name;
  add_qos(v);
  add_caps(v);
  add_executor(v);
  add_interference(v);
  add_figures(v);
  add_predictions(v);
  add_recorder(v);
  add_hooks(v);
  v.be_root = be_root_;
  v.topology = topology_;
  v.hardware = &hardware_;
  v.capabilities = capabilities_;
  v.config = loaded_.values;
  return v;
}

}  // namespace koordlet::app
