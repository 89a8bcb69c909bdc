#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/cgroup.hpp"
#include "base/clock.hpp"
#include "kernel/cpu_info.hpp"
#include "model/audit.hpp"
#include "model/interference.hpp"
#include "model/node_state.hpp"
#include "model/proposal.hpp"
#include "model/snapshot.hpp"
#include "model/usage.hpp"
#include "policy/be_progress.hpp"
#include "policy/cap_check.hpp"
#include "policy/cap_effect.hpp"
#include "policy/config.hpp"
#include "policy/cpu_burst.hpp"
#include "policy/idle_buffer.hpp"
#include "policy/memory_qos.hpp"
#include "policy/memory_soften.hpp"
#include "policy/predict_reclaimable.hpp"
#include "policy/prediction.hpp"

namespace koordlet {

/// Everything the REST API shows, as model values: filled by the daemon, so that status_api sees no
/// other module. Made for one request on the loop thread and dropped when the answer is ready; what
/// is borrowed (pointers, read_cpu_max) need not live longer than that.
struct StatusView {
  struct HeldFile {
    CgroupKey key;
    std::string file;  ///< absolute path of the control file
    std::string raw;   ///< kernel content, canonical
    std::string original, value, plugin, reason;
    MonoTime since;
    std::uint64_t foreign_writes = 0;
    bool contested = false;
    std::optional<Outcome> last;
    std::vector<Proposal> losers;
  };
  struct Capability {
    std::string name;  ///< "cgroup", "psi", ...
    bool available = false;
    std::string detail;  ///< value, or why not
    std::string advice;  ///< what to do; empty when available
  };
  /// What the machine is made of; read once at the start. Absent: the kernel does not say.
  struct Hardware {
    std::optional<kernel::CpuModel> cpu;
    std::optional<bool> smt;
    std::vector<kernel::CpuCache> caches;
  };
  struct InputAge {
    std::string name;                              ///< "node", "pods", "nodeslo", "signals"
    std::optional<std::chrono::milliseconds> age;  ///< nullopt: never seen
    bool stale = false;
  };
  struct Config {
    std::string key;  ///< "qos.pressure.mid_percent"
    std::string value;
    std::string source;  ///< "built-in", "toml", "command line", "nodeslo"
  };
  /// One lever beside CPU quota, for people.
  struct Lever {
    std::string name;            ///< "blkio", "system", "resctrl", "core_sched"
    bool on = false;             ///< NodeSLO or TOML asks for it
    std::uint64_t settings = 0;  ///< what it wishes or holds now
    std::string detail;          ///< what is special about it here; "" nothing
    std::vector<std::string> faults;
  };
  struct Qos {
    bool off = false;
    bool dry_run = false;
    std::string profile;
    std::string level;  ///< "NONE", "MID", "HIGH"
    MonoTime level_since;
    int use_permyriad = 0;
    int factor_permille = 1000;
    int below_exit = 0;
    std::string level_by_use;  ///< what the node's use alone says
    std::string raised_by;     ///< why the level is above that: pod, signal and value; "" it is not
    std::vector<std::string> not_caused_by_be;  ///< uids of pods whose signal capping did not help
    std::optional<std::int64_t> be_root_cap_milli;
    /// What the BE-root cap was computed from: capacity x high % - LS use - system use.
    std::optional<std::int64_t> cap_ls_used_milli, cap_system_used_milli;
    std::optional<std::int64_t> suppress_budget_milli;
    std::optional<std::string> suppress_cpuset;
    int hold_seconds = 0;
    std::vector<std::string> uncapped;  ///< uids of BE pods that share the BE-root cap
    std::string stale;                  ///< "" fresh, else which input is how old
    std::uint64_t ticks = 0, level_changes = 0;
    std::optional<MonoTime> hold_until;  ///< hold doubling: nothing relaxes before this time
    std::vector<Lever> levers;
    policy::IdleBuffer::State idle_buffer;
    policy::CpuBurst::Summary burst;
    policy::MemoryQos::Summary memory_qos;
    policy::MemorySoften::State memory_soften;
    struct Reclaims {
      std::uint64_t done = 0, part = 0, failed = 0;
    } reclaims;                              ///< how memory.reclaim ended, since start
    std::vector<policy::CapEffect> effects;  ///< newest first; one without a verdict before them
    std::vector<policy::CapFault> ineffective;
    policy::StarvationState starvation;
    policy::EffectiveConfig effective;  ///< thresholds and factors that hold now
  };
  /// ResourceExecutor's counters since start.
  struct Executor {
    std::uint64_t batches = 0, writes = 0, unchanged = 0, refused = 0, gone = 0, unsupported = 0,
                  foreign = 0, restored = 0, journal_failures = 0;
    std::optional<std::chrono::microseconds> last_batch, last_commit;
  };
  /// What systemd is told of its units.
  struct Units {
    bool enabled = false;    ///< by the config, on cgroup v2
    bool connected = false;  ///< systemd answers
    std::string version;     ///< systemd's; empty: not asked yet
    std::string fault;       ///< why it is not connected
    std::string last_error;  ///< of a call
    std::uint64_t sets = 0, failures = 0, gone = 0;
    std::size_t pending = 0, units = 0;
  };
  /// One helper thread.
  struct Helper {
    std::string name;  ///< "storage", "reclaim"
    std::size_t queued = 0;
    std::chrono::milliseconds busy{0};  ///< age of the job that runs now; 0: idle
  };
  /// What the metric store holds and what it lost since the start.
  struct History {
    std::size_t series = 0, rows = 0, seals = 0, rolled_minutes = 0;
    std::uint64_t sealed_series = 0, sealed_samples = 0, used_bytes = 0, map_bytes = 0;
    std::uint64_t dropped_rows = 0, dropped_batches = 0, damaged_rows = 0, refused_samples = 0;
  };
  /// One resource that is followed from outside.
  struct Resource {
    std::string name;                              ///< "pods"
    bool synced = false;                           ///< read whole since the start
    bool cached = false;                           ///< shown as an earlier run kept it
    std::optional<std::chrono::milliseconds> age;  ///< since it was last confirmed; nullopt: never
    std::string fault;                             ///< why it is not current; "" while it is
    std::uint64_t lists = 0, watches = 0, events = 0, bookmarks = 0, relists = 0, failures = 0;
    std::string resource_version;
  };
  /// The way to the API server.
  struct Api {
    std::string server, fault;
    std::optional<std::chrono::milliseconds> last_ok_age, clock_skew;
    std::uint64_t calls = 0, failures = 0, unauthorized = 0, throttled = 0, forbidden = 0;
  };
  /// NodeMetric.
  struct Report {
    struct Times {  ///< of the last reports
      std::chrono::milliseconds p50{0}, p99{0}, max{0};
    };
    std::chrono::seconds interval{0};
    std::optional<std::chrono::milliseconds> last_age, next_in;
    std::optional<WallTime> update_time;  ///< as last sent
    std::string problem;                  ///< why the last round sent nothing; "" after a good one
    std::vector<std::string> lacks;       ///< what the last report had no data for
    std::uint64_t reports = 0, unsent = 0, failures = 0;
    std::optional<Times> build_to_2xx, age_then;  ///< age_then: now - updateTime at the 2xx
    std::string topology;                         ///< state of the NodeResourceTopology, "" fine
  };
  /// The Node condition KoordletHighPressure.
  struct HighCondition {
    std::optional<bool> wanted, told;  ///< nullopt: neither side lasted yet; nothing told yet
    std::string problem;               ///< why the last patch failed; "" it did not
    std::uint64_t patches = 0;
  };
  /// One eviction that was tried.
  struct Eviction {
    std::string pod, uid, plugin, reason, outcome, detail;
    MonoTime at;
  };
  /// One eviction rule.
  struct EvictionRule {
    struct Amount {
      std::string resource;  ///< "memory-used", "batch-cpu", ...; bytes or milli-cores
      std::int64_t need = 0, pending = 0, reachable = 0;
    };
    std::string plugin, phase, why;
    int use_permyriad = 0;        ///< what its threshold is compared with
    std::vector<Amount> amounts;  ///< of what it lacks; empty: nothing
    int candidates = 0;
  };
  /// Of one pod and one rule.
  struct EvictionStanding {
    std::string plugin;
    std::string why_not;  ///< "" while it is a candidate
  };
  /// One collector.
  struct Source {
    std::string name;
    std::string fault;  ///< "" ok, else why it gives nothing
    std::optional<MonoTime> last_ok;
    bool unsupported = false;  ///< `fault` says what this machine lacks: nothing failed
  };
  /// How interference is seen here.
  struct Interference {
    bool enabled = false;
    std::string run_queue_source;  ///< "bpf", "schedstat", "none"
    std::string run_queue_fault;   ///< why not a better one; "" for bpf
    std::string perf_fault;        ///< why there is no CPI; "" while it is measured
    std::string counter_source;    ///< "iterator (...)" or "files"
    std::string counter_fault;     ///< why not the iterator
    std::chrono::seconds window{0};
    std::size_t baselines = 0;  ///< workloads whose usual CPI is kept
    struct Trigger {
      std::string path, trigger, fault;
      std::uint64_t events = 0;
    };
    std::vector<Trigger> triggers;
    /// Borrowed; nullptr: not measured.
    const std::map<std::string, PodInterference>* pods = nullptr;
    std::optional<NodeInterference> node;
  };
  /// Peaks to come, as of the last round. What is borrowed lives until the next one.
  struct Predictions {
    struct Row {
      std::string_view name;  ///< class or pod uid
      const policy::Prediction* value = nullptr;
    };
    std::chrono::seconds window{0};
    std::uint64_t rounds = 0;
    std::chrono::microseconds last_round{0}, longest_slice{0};
    std::size_t models = 0, bytes = 0, restored = 0, cold_rows = 0;
    std::uint64_t restarted = 0, expired = 0, rows = 0, save_failures = 0;
    bool save_failing = false;
    const policy::Prediction *node = nullptr, *system = nullptr;
    std::vector<Row> classes, pods;  ///< by rising name
    std::optional<policy::Reclaimable> reclaimable;
    std::string warning;  ///< which peak of the node is ahead; "" none, or not looked for
  };
  /// The flight recorder.
  struct Recorder {
    std::string folder;
    std::uint64_t size = 0, bytes = 0, segments = 0, ticks = 0, written_bytes = 0, dropped = 0;
    std::optional<WallTime> oldest, newest;
    std::chrono::milliseconds lag{0};
    std::string fault;  ///< why nothing is written; "" it is
  };
  /// Values that containers start with, given to the runtime over NRI.
  struct Hooks {
    struct Hook {
      std::string name;
      bool on = false;
      std::uint64_t calls = 0, changed = 0, failed = 0;
      std::chrono::microseconds longest{0};
      std::string last_failure;
    };
    std::string state;  ///< "connecting", "registered", "ready"
    std::string why;    ///< not ready: the last reason
    std::string socket, runtime, runtime_version, last_failure;
    std::uint64_t connections = 0, events = 0, failures = 0, late = 0, created = 0, updated = 0,
                  unknown_pods = 0, hands_off = 0, repaired = 0, followed = 0, capped_starts = 0;
    std::size_t containers = 0;
    std::chrono::microseconds longest_answer{0};
    std::vector<Hook> hooks;
  };
  struct CpuLimit {
    CpuMax value;
    std::string file;  ///< absolute
  };

  MonoTime now;
  WallTime wall;
  std::string version, node_name, boot_id;
  std::string listen;  ///< address of the REST listener, "" none
  bool ready = false;
  std::vector<std::string> not_ready;  ///< why not
  std::chrono::milliseconds uptime{0};
  CgroupVersion cgroup_version{};
  std::optional<CgroupDriver> driver;
  std::shared_ptr<const NodeState> state;
  std::optional<NodeSignals> signals;
  std::map<std::string, PodUsage> pods;
  /// Borrowed, by "<runtime>://<id>"; nullptr: none.
  const std::map<std::string, ContainerUsage>* containers = nullptr;
  const NodeUsage* node_usage = nullptr;  ///< borrowed
  Interference interference;
  Qos qos;
  std::vector<HeldFile> held;
  const DesiredTable* desired = nullptr;  ///< borrowed; nullptr: no table yet
  const AuditLog* audit = nullptr;        ///< borrowed
  std::vector<Outcome> outcomes;          ///< last batch, without kUnchanged
  std::optional<BeRoot> be_root;          ///< as read for the last snapshot
  CpuTopology topology;                   ///< empty: unknown
  const Hardware* hardware = nullptr;     ///< borrowed
  Executor executor;
  Units units;
  std::vector<Helper> helpers;
  std::optional<Hooks> hooks;              ///< nullopt: switched off
  std::optional<Recorder> recorder;        ///< nullopt: switched off
  std::optional<Predictions> predictions;  ///< nullopt: switched off
  std::optional<History> history;          ///< nullopt: the store is not open
  std::vector<Source> sources;
  std::vector<Resource> resources;
  std::optional<Api> api;                                ///< nullopt: no API server is used
  std::optional<HighCondition> high_condition;           ///< nullopt: it is not set here
  std::optional<Report> report;                          ///< nullopt: nothing is reported
  std::vector<Eviction> evictions;                       ///< newest first
  std::map<std::string, std::uint64_t> eviction_counts;  ///< outcome -> number
  /// (plugin, outcome) -> number; what never happened is left out.
  std::map<std::pair<std::string, std::string>, std::uint64_t> eviction_plugin_counts;
  std::vector<EvictionRule> eviction_rules;  ///< all, those that are off too
  std::string eviction_hold;  ///< where the first rule stands that lacks something; "" otherwise
  /// One for each rule that is on. Empty function: not known.
  std::function<std::vector<EvictionStanding>(const Pod&)> eviction_standing;
  std::optional<std::chrono::microseconds> loop_late, loop_late_max;  ///< last tick, worst
  std::uint64_t missed_ticks = 0;
  /// Reads cpu.max of a cgroup that is not held now, for explain (a handful of calls a request).
  /// nullopt: no such file; empty function: explain shows such limits as unknown.
  std::function<std::optional<CpuLimit>(const CgroupPath&)> read_cpu_max;
  std::vector<InputAge> ages;
  std::vector<Capability> capabilities;
  std::vector<Config> config;
  std::vector<std::string> faults;       ///< refused inputs, one line each
  std::map<std::string, double> gauges;  ///< name (without koordlet_) -> value
  std::map<std::string, double> counters;
  std::map<std::string, std::string> help;  ///< HELP text of a name in gauges or counters
  std::map<std::string, std::chrono::microseconds> stages;  ///< stage -> last duration

  /// Adds one that has no field of its own; `name` without koordlet_.
  void gauge(const std::string& name, double value, const std::string& about) {
    gauges[name] = value;
    help[name] = about;
  }
  void counter(const std::string& name, std::uint64_t value, const std::string& about) {
    counters[name] = static_cast<double>(value);
    help[name] = about;
  }
};

}  // namespace koordlet
