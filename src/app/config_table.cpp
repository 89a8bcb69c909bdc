#include "app/config_table.hpp"

#include <string>
#include <utility>

/// The table of all keys.
namespace koordlet::app {
namespace {

void add_host_and_states(std::vector<Setting>& out) {
  const auto path = TextRule::kAbsolutePath;
  out.push_back(text("host.cgroup_root",
                     KOORDLET_AT(host.cgroup),
                     path,
                     "where the host's cgroup file systems are mounted, as this process sees it"));
  out.push_back(text("host.proc_root", KOORDLET_AT(host.proc), path, "the host's procfs"));
  out.push_back(text("host.sys_root", KOORDLET_AT(host.sys), path, "the host's sysfs"));
  out.push_back(text("host.dev_root", KOORDLET_AT(host.dev), path, "the host's device folder"));
  out.push_back(text("host.run_root",
                     KOORDLET_AT(run_root),
                     path,
                     "the host's /run: systemd's sockets, and what it notes of its units"));

  out.push_back(choice<StatesSource>("states.source",
                                     KOORDLET_AT(states.informer.source),
                                     {{"files", StatesSource::kFiles},
                                      {"kubernetes", StatesSource::kKubernetes},
                                      {"kubelet", StatesSource::kKubelet}},
                                     "where Pods come from: manifests in states.folder, the API "
                                     "server, or kubelet (Node and NodeSLO from the folder)"));
  out.push_back(text("states.folder",
                     KOORDLET_AT(states.informer.folder),
                     path,
                     "manifests of the files source, YAML or JSON; the folder must exist"));
  out.push_back(duration("states.settle",
                         KOORDLET_AT(states.informer.settle),
                         1,
                         10 * kSecond,
                         "quiet time after the last change before the folder is read again"));
  out.push_back(duration("states.rescan_interval",
                         KOORDLET_AT(states.informer.rescan_interval),
                         kSecond,
                         10 * kMinute,
                         "full look at folder and kubepods tree, in case an event was lost"));
  out.push_back(size("states.max_manifest_size",
                     KOORDLET_AT(states.informer.max_manifest_bytes),
                     4 * kKiB,
                     64 * kMiB,
                     "a larger manifest is refused"));
  out.push_back(text("states.node_name",
                     KOORDLET_AT(states.informer.node_name),
                     TextRule::kNodeName,
                     "this node; empty: NODE_NAME, the one Node in the folder, the host's name"));
  out.push_back(duration("states.kubelet_sync",
                         KOORDLET_AT(states.informer.kubelet_sync),
                         kSecond,
                         10 * kMinute,
                         "kubelet source: between two readings, beside those that events cause"));
}

void add_qos(std::vector<Setting>& out) {
  out.push_back(with_flag("qos-interval",
                          duration("qos.interval",
                                   KOORDLET_AT(qos.interval),
                                   kSecond,
                                   kMinute,
                                   "between two evaluations of the node's pressure")));
  out.push_back(duration("qos.fast_poll",
                         KOORDLET_AT(qos.fast_poll),
                         20,
                         kSecond,
                         "poll of class counters while within 5 points of a threshold"));
  out.push_back(choice<bool>("qos.profile",
                             KOORDLET_AT(qos.policy.pressure_profile),
                             {{"pressure", true}, {"koordinator", false}},
                             "pressure: levels by node use; koordinator: only what NodeSLO says"));
  out.push_back(choice<bool>("qos.without_nodeslo",
                             KOORDLET_AT(qos.policy.local_without_nodeslo),
                             {{"local", true}, {"off", false}},
                             "while there is no NodeSLO: act by this file, or do nothing"));
  out.push_back(duration("qos.node_stale",
                         KOORDLET_AT(qos.policy.node_stale_seconds),
                         kSecond,
                         10 * kMinute,
                         "older node signals hold every cap; at least 3 x qos.interval is taken"));
  out.push_back(number("qos.pods_stale_intervals_tenths",
                       KOORDLET_AT(qos.policy.pods_stale_intervals_tenths),
                       10,
                       1000,
                       "pod samples are stale after this many tenths of collect.interval"));
  out.push_back(choice<OnShutdown>("qos.on_shutdown",
                                   KOORDLET_AT(qos.on_shutdown),
                                   {{"restore", OnShutdown::kRestore}, {"keep", OnShutdown::kKeep}},
                                   "at SIGTERM: put every file back, or leave the caps"));
  out.push_back(words("qos.hands_off_namespaces",
                      KOORDLET_AT(qos.policy.hands_off_namespaces),
                      TextRule::kAny,
                      "where the annotation koordinator.sh/qos-hands-off: \"true\" keeps every "
                      "plugin and eviction off a pod, with commas between"));
}

void add_suppress_and_identity(std::vector<Setting>& out) {
  out.push_back(boolean("qos.suppress.enable",
                        KOORDLET_AT(qos.policy.suppress.enable),
                        "BE budget = capacity x threshold - LS use - system use"));
  out.push_back(number("qos.suppress.threshold_percent",
                       KOORDLET_AT(qos.policy.suppress.threshold_percent),
                       0,
                       100,
                       "share of the node's CPU that all work together may take"));
  out.push_back(optional_number("qos.suppress.min_percent",
                                KOORDLET_AT(qos.policy.suppress.min_percent),
                                0,
                                100,
                                "floor of the BE budget; \"none\": no floor"));
  out.push_back(choice<SuppressPolicy>("qos.suppress.policy",
                                       KOORDLET_AT(qos.policy.suppress.policy),
                                       {{"cpuset", SuppressPolicy::kCpuset},
                                        {"cfsQuota", SuppressPolicy::kCfsQuota},
                                        {"podQuota", SuppressPolicy::kPodQuota}},
                                       "budget as CPUs, as quota of the BE root, or left to the "
                                       "pod quotas of [qos.pressure]"));
  out.push_back(boolean("qos.starvation.enable",
                        KOORDLET_AT(qos.policy.starvation.enable),
                        "leave a BE pod that gets next to nothing a floor, and say so"));
  out.push_back(number("qos.starvation.percent",
                       KOORDLET_AT(qos.policy.starvation.percent),
                       1,
                       50,
                       "of its request: a BE pod that wants more and gets less is hungry"));
  out.push_back(duration("qos.starvation.after",
                         KOORDLET_AT(qos.policy.starvation.seconds),
                         10 * kSecond,
                         60 * kMinute,
                         "hungry for so long, it starves"));
  out.push_back(number("qos.starvation.floor_percent",
                       KOORDLET_AT(qos.policy.starvation.floor_percent),
                       1,
                       100,
                       "of the request of the starving: what CPU caps leave them, while LS has "
                       "enough"));
  out.push_back(boolean("qos.identity.enable",
                        KOORDLET_AT(qos.policy.identity.enable),
                        "low scheduling weight of BE, so that LS wakes fast"));
  out.push_back(number("qos.identity.be_shares",
                       KOORDLET_AT(qos.policy.identity.be_shares),
                       2,
                       262'144,
                       "cgroup v1: cpu.shares of the BE root"));
  out.push_back(number("qos.identity.be_weight",
                       KOORDLET_AT(qos.policy.identity.be_weight),
                       1,
                       10'000,
                       "cgroup v2: cpu.weight of the BE root"));
}

void add_executor_and_store(std::vector<Setting>& out) {
  out.push_back(boolean("executor.dry_run",
                        KOORDLET_AT(executor.dry_run),
                        "compute and show everything, write nothing"));
  out.push_back(with_flag("batch-size",
                          number("executor.batch_size",
                                 KOORDLET_AT(executor.batch_size),
                                 1,
                                 10'000,
                                 "writes between two yields to the loop")));
  out.push_back(number("executor.contested_per_minute",
                       KOORDLET_AT(executor.contested_per_minute),
                       1,
                       1000,
                       "a file with more foreign writes than this is shown as contested"));
  out.push_back(duration("executor.retry_first",
                         KOORDLET_AT(executor.retry_first),
                         10,
                         10 * kSecond,
                         "first pause before a busy file is tried again"));
  out.push_back(duration("executor.retry_max",
                         KOORDLET_AT(executor.retry_max),
                         100,
                         10 * kMinute,
                         "the pause doubles up to this"));

  out.push_back(choice<bool>("executor.unit_properties",
                             KOORDLET_AT(unit_properties),
                             {{"auto", true}, {"off", false}},
                             "auto: systemd, where it made the cgroups (v2), is told the values of "
                             "its units over D-Bus and puts nothing back; off: files only"));

  out.push_back(text("store.folder",
                     KOORDLET_AT(store.folder),
                     TextRule::kAbsolutePath,
                     "metric history and the journal of changed files; made if missing"));
  out.push_back(size("store.metrics_map_size",
                     KOORDLET_AT(store.metrics.map_size),
                     16 * kMiB,
                     64 * kGiB,
                     "most that the metric history takes; the oldest data goes first"));
  out.push_back(size("store.state_map_size",
                     KOORDLET_AT(store.state_map_size),
                     4 * kMiB,
                     4 * kGiB,
                     "most that the journal and the last state take"));
  out.push_back(with_flag("metric-cache-ttl",
                          duration("store.metric_cache_ttl",
                                   KOORDLET_AT(store.metrics.ttl),
                                   kMinute,
                                   168 * kHour,
                                   "raw samples are kept this long")));
  out.push_back(duration("store.retention",
                         KOORDLET_AT(store.metrics.retention),
                         kMinute,
                         168 * kHour,
                         "summaries of each minute are kept this long, for as long as the raw "
                         "samples at least"));
  out.push_back(with_flag("gc-interval",
                          duration("store.gc_interval",
                                   KOORDLET_AT(store.metrics.gc_interval),
                                   10 * kSecond,
                                   24 * kHour,
                                   "between two expiry runs")));
  out.push_back(number("store.max_queued_batches",
                       KOORDLET_AT(store.metrics.max_queued_batches),
                       1,
                       4096,
                       "collections that wait for the disk; more are dropped, counted"));
}

void add_listeners_and_log(std::vector<Setting>& out) {
  out.push_back(text("status.socket",
                     KOORDLET_AT(status.socket),
                     TextRule::kSocket,
                     "unix socket of the REST API and of the command line; empty: none"));
  out.push_back(text("status.listen",
                     KOORDLET_AT(status.listen),
                     TextRule::kLoopback,
                     "TCP address of the REST API; empty: none"));
  out.push_back(text("metrics.listen",
                     KOORDLET_AT(status.metrics_listen),
                     TextRule::kLoopback,
                     "TCP address of /metrics, /healthz and /readyz; empty: none"));
  out.push_back(choice<log::Level>("log.level",
                                   KOORDLET_AT(log.level),
                                   {{"debug", log::Level::kDebug},
                                    {"info", log::Level::kInfo},
                                    {"warn", log::Level::kWarn},
                                    {"error", log::Level::kError}},
                                   "least severity that is logged"));
  out.push_back(boolean("log.json", KOORDLET_AT(log.json), "one JSON object a line"));
  out.push_back(number("log.queue",
                       KOORDLET_AT(log.queue),
                       16,
                       1'000'000,
                       "lines kept while the reader stalls; older ones are dropped, counted"));
}

std::vector<Setting> make_settings() {
  std::vector<Setting> out;
  add_host_and_states(out);
  add_control_plane(out);
  add_interference(out);
  add_qos(out);
  add_pressure(out);
  add_suppress_and_identity(out);
  add_levers(out);
  add_eviction(out);
  add_idle_buffer(out);
  add_burst(out);
  add_memory(out);
  add_executor_and_store(out);
  add_hooks(out);
  add_predict(out);
  add_recorder(out);
  add_listeners_and_log(out);
  return out;
}

}  // namespace

const std::vector<Setting>& settings() {
  static const std::vector<Setting> table = make_settings();
  return table;
}

const Setting* find_setting(std::string_view key) {
  for (const auto& s : settings()) {
    if (s.key == key) return &s;
  }
  return nullptr;
}

}  // namespace koordlet::app
