#include "modules/status_api/prometheus.hpp"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>

#include "modules/status_api/caps_json.hpp"
#include "modules/status_api/eviction_json.hpp"
#include "modules/status_api/held_index.hpp"
#include "modules/status_api/json_text.hpp"
#include "modules/status_api/prometheus_interference.hpp"
#include "modules/status_api/prometheus_predict.hpp"
#include "modules/status_api/series.hpp"
#include "modules/status_api/use_split.hpp"

namespace koordlet::status_api {

namespace {

using OptionalNumber = std::optional<double>;

OptionalNumber cores(const std::optional<std::int64_t>& milli) {
  return milli ? OptionalNumber{static_cast<double>(*milli) / 1000.0} : std::nullopt;
}
template <class Quantity>
OptionalNumber number(const std::optional<Quantity>& q) {
  return q ? OptionalNumber{static_cast<double>(q->v)} : std::nullopt;
}
template <class Duration>
double seconds(Duration d) {
  return std::chrono::duration<double>(d).count();
}
template <class Duration>
OptionalNumber seconds(const std::optional<Duration>& d) {
  return d ? OptionalNumber{seconds(*d)} : std::nullopt;
}

OptionalNumber level_number(std::string_view level) {
  if (level == "NONE") return 0;
  if (level == "MID") return 1;
  if (level == "HIGH") return 2;
  return std::nullopt;
}

/// Milli-cores of what is held for a file; nullopt: not held, or unlimited.
std::optional<std::int64_t> held_milli(const HeldIndex& index, const CgroupKey& key) {
  const auto* held = index.find(key);
  if (held == nullptr) return std::nullopt;
  const auto value = parse_cgroup_value(key.file, held->value);
  if (!value) return std::nullopt;
  if (const auto* max = std::get_if<CpuMax>(&*value)) return milli_of(*max);
  if (const auto* cpus = std::get_if<CpuSet>(&*value); cpus != nullptr && !cpus->empty()) {
    return std::int64_t{cpus->count()} * 1000;
  }
  return std::nullopt;
}

void add_daemon(SeriesSet& out, const StatusView& view, double start_time) {
  out.gauge("start_time", "Start of the daemon, in seconds since the epoch.", start_time);
  out.gauge("build_info",
            "Always 1; the labels say what runs.",
            1.0,
            {{"version", utf8(view.version)},
             {"cgroup_version", std::string{to_string(view.cgroup_version)}}});
  out.gauge("ready", "1 when /readyz answers 200.", view.ready ? 1.0 : 0.0);
  out.counter("ticks_total", "QoS evaluations.", static_cast<double>(view.qos.ticks));
  out.counter("missed_ticks_total",
              "Timer deadlines that passed while the loop was busy.",
              static_cast<double>(view.missed_ticks));
  out.gauge("loop_lateness_seconds",
            "How late the loop saw its last timer deadline.",
            seconds(view.loop_late));
  out.gauge(
      "loop_lateness_max_seconds", "Worst lateness since start.", seconds(view.loop_late_max));
  for (const auto& [stage, us] : view.stages) {
    out.gauge("stage_seconds", "Last duration of a stage.", seconds(us), {{"stage", utf8(stage)}});
  }
  for (const auto& helper : view.helpers) {
    const prometheus::Labels labels{{"helper", utf8(helper.name)}};
    out.gauge("helper_queued_jobs",
              "Jobs that wait for a helper thread.",
              static_cast<double>(helper.queued),
              labels);
    out.gauge("helper_busy_seconds",
              "Age of the job a helper thread runs now, 0 when idle.",
              seconds(helper.busy),
              labels);
  }
  out.gauge("refused_inputs",
            "Inputs (manifests, NodeSLO fields) refused now.",
            static_cast<double>(view.faults.size()));
}

void add_inputs(SeriesSet& out, const StatusView& view) {
  for (const auto& input : view.ages) {
    const prometheus::Labels labels{{"input", utf8(input.name)}};
    out.gauge("input_age_seconds", "Age of an input of the policy.", seconds(input.age), labels);
    out.gauge("input_stale",
              "1 while an input is too old: caps hold, nothing relaxes.",
              input.stale ? 1.0 : 0.0,
              labels);
  }
  for (const auto& source : view.sources) {
    const prometheus::Labels labels{{"collector", utf8(source.name)}};
    out.gauge("collector_supported",
              "0 where this machine does not offer what a collector reads.",
              source.unsupported ? 0.0 : 1.0,
              labels);
    // What cannot be had is not down: an alert on 0 means a failure.
    if (source.unsupported) continue;
    out.gauge("collector_up",
              "1 while a supported collector gives samples, 0 while it fails.",
              source.fault.empty() ? 1.0 : 0.0,
              labels);
  }
  for (const auto& c : view.capabilities) {
    out.gauge("capability_available",
              "1 when the machine offers a capability.",
              c.available ? 1.0 : 0.0,
              {{"capability", utf8(c.name)}});
  }
}

void add_node(SeriesSet& out, const StatusView& view) {
  const auto use = use_split(view.signals);
  out.gauge("node_used_cpu_cores", "CPU use of the whole node.", cores(use.node));
  OptionalNumber memory;
  if (view.signals) memory = number(view.signals->memory_used);
  out.gauge("node_used_memory_bytes", "MemTotal - MemAvailable.", memory);
  if (view.state && view.state->node && view.state->node->cpu_capacity.v > 0) {
    out.gauge("node_capacity_cpu_cores",
              "CPU capacity of the Node object.",
              cores(view.state->node->cpu_capacity.v));
  }
  out.gauge(
      "be_suppress_ls_used_cpu_cores", "CPU use of pods that are not best effort.", cores(use.ls));
  out.gauge("be_suppress_be_used_cpu_cores", "CPU use of best-effort pods.", cores(use.be));
  out.gauge(
      "system_used_cpu_cores", "CPU use of neither pods nor host applications.", cores(use.system));
}

void add_qos(SeriesSet& out, const StatusView& view, const HeldIndex& index) {
  const auto& qos = view.qos;
  const char* suppress_help = "CPU that best effort is held to as a class, by means.";
  if (view.be_root) {
    const auto& root = view.be_root->path;
    out.gauge("be_suppress_cpu_cores",
              suppress_help,
              cores(held_milli(index, {root, CgroupFile::kCpuMax})),
              {{"type", "cfsQuota"}});
    out.gauge("be_suppress_cpu_cores",
              suppress_help,
              cores(held_milli(index, {root, CgroupFile::kCpuset})),
              {{"type", "cpuset"}});
  }
  out.gauge("pressure_level", "Pressure level: 0 NONE, 1 MID, 2 HIGH.", level_number(qos.level));
  out.gauge("pressure_factor_ratio",
            "Share of its request that a best-effort pod may use, 0 to 1.",
            qos.factor_permille / 1000.0);
  out.gauge("be_cap_cores",
            "Cap that best-effort pods without a request share.",
            cores(qos.be_root_cap_milli));
  out.gauge("policy_enabled",
            "1 while the policy proposes values.",
            qos.off || qos.effective.off ? 0.0 : 1.0);
  out.gauge("dry_run", "1 when nothing is written.", qos.dry_run ? 1.0 : 0.0);
  out.counter("level_changes_total",
              "Changes of the pressure level.",
              static_cast<double>(qos.level_changes));
}

void add_executor(SeriesSet& out, const StatusView& view) {
  const auto contested =
      std::count_if(view.held.begin(), view.held.end(), [](const auto& h) { return h.contested; });
  out.gauge("held_files",
            "Control files that hold a value of ours.",
            static_cast<double>(view.held.size()));
  out.gauge("contested_files",
            "Held files that another writer keeps changing.",
            static_cast<double>(contested));
  const auto& e = view.executor;
  const auto total = [&out](const char* name, const char* help, std::uint64_t value) {
    out.counter(name, help, static_cast<double>(value));
  };
  total("executor_batches_total", "Batches applied.", e.batches);
  total("executor_writes_total", "Control files written.", e.writes);
  total("executor_unchanged_total", "Files that already had the value.", e.unchanged);
  total("executor_refused_total", "Writes the kernel refused.", e.refused);
  total("executor_gone_total", "Files whose cgroup went away.", e.gone);
  total("executor_unsupported_total", "Values this kernel has no file for.", e.unsupported);
  total("executor_foreign_writes_total", "Values another writer changed.", e.foreign);
  total("executor_restored_total", "Files put back to their original.", e.restored);
  total("executor_journal_failures_total", "Journal commits that failed.", e.journal_failures);
  out.gauge("executor_batch_seconds", "Duration of the last batch.", seconds(e.last_batch));
  out.gauge(
      "executor_commit_seconds", "Duration of the last journal commit.", seconds(e.last_commit));
}

/// Only best-effort pods: what koordlet does to whom. Use of all pods is the kubelet's to export.
void add_pods(SeriesSet& out, const StatusView& view, const HeldIndex& index) {
  if (!view.state) return;
  std::map<std::string, double> counts;
  for (const auto& pod : view.state->pods) {
    if (!is_active(*pod)) continue;
    counts[std::string{to_string(qos_with_default(*pod))}] += 1;
    if (!is_best_effort(*pod)) continue;
    const auto usage = view.pods.find(pod->uid);
    const auto cap = held_milli(index, {pod->cgroup, CgroupFile::kCpuMax});
    if (usage == view.pods.end() && !cap) continue;
    const prometheus::Labels labels{{"pod_uid", utf8(pod->uid)},
                                    {"pod_name", utf8(pod->name)},
                                    {"pod_namespace", utf8(pod->ns)}};
    out.gauge("be_pod_cpu_cap_cores", "CPU quota held on a best-effort pod.", cores(cap), labels);
    if (usage == view.pods.end()) continue;
    const auto& u = usage->second;
    out.gauge("be_pod_used_cpu_cores",
              "CPU use of a best-effort pod.",
              u.cpu ? cores(u.cpu->v) : std::nullopt,
              labels);
    out.gauge("be_pod_throttled_ratio",
              "Share of periods in which a best-effort pod was throttled, 0 to 1.",
              u.throttled ? cores(u.throttled->v) : std::nullopt,
              labels);
  }
  for (const auto& [qos, count] : counts) {
    out.gauge("active_pods", "Pods that are Pending or Running.", count, {{"qos", qos}});
  }
}

/// What other modules count. Ours come first: a name that is taken stays ours.
void add_extra(SeriesSet& out, const StatusView& view) {
  const auto help = [&view](const std::string& name) {
    const auto at = view.help.find(name);
    return at != view.help.end() ? at->second : fmt::format("Value '{}' of the daemon.", name);
  };
  for (const auto& [name, value] : view.gauges) out.gauge(name, help(name), value);
  for (const auto& [name, value] : view.counters) {
    out.counter(name.ends_with("_total") ? name : name + "_total", help(name), value);
  }
}

}  // namespace

struct MetricsExporter::Impl {
  prometheus::Registry registry;
  SeriesSet series{registry};
  std::optional<double> start_time;  ///< taken once: wall - uptime would move with the wall clock
};

MetricsExporter::MetricsExporter() : impl_{std::make_unique<Impl>()} {}
MetricsExporter::~MetricsExporter() = default;

std::string MetricsExporter::text(const StatusView& view) {
  if (!impl_->start_time) {
    impl_->start_time = seconds(view.wall.time_since_epoch()) - seconds(view.uptime);
  }
  const HeldIndex index(view);
  auto& out = impl_->series;
  out.begin(utf8(view.node_name));
  add_daemon(out, view, *impl_->start_time);
  add_inputs(out, view);
  add_node(out, view);
  add_qos(out, view, index);
  add_executor(out, view);
  add_pods(out, view, index);
  add_cap_series(out, view);
  add_interference(out, view);
  add_predictions(out, view);
  add_evictions(out, view);
  add_extra(out, view);
  out.end();
  std::ostringstream text;
  out.write(text);
  return std::move(text).str();
}

}  // namespace koordlet::status_api
