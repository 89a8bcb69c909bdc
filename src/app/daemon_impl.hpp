#pragma once

#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "app/cached_history.hpp"
#include "app/config.hpp"
#include "app/control_plane.hpp"
#include "base/clock.hpp"
#include "kernel/cgroup_counters.hpp"
#include "kernel/cgroup_fs.hpp"
#include "kernel/verbs_devices.hpp"
#include "model/kubelet_cpus.hpp"
#include "modules/flight_recorder/flight_recorder.hpp"
#include "modules/metric_advisor/interference_watch.hpp"
#include "modules/metric_advisor/metric_advisor.hpp"
#include "modules/metric_cache/metric_cache.hpp"
#include "modules/predict_server/predict_server.hpp"
#include "modules/qos_manager/core_cookies.hpp"
#include "modules/qos_manager/memory_reclaimer.hpp"
#include "modules/qos_manager/qos_manager.hpp"
#include "modules/qos_manager/resctrl_groups.hpp"
#include "modules/resource_executor/resource_executor.hpp"
#include "modules/states_informer/states_informer.hpp"
#include "modules/status_api/status_api.hpp"
#include "policy/cap_check.hpp"
#include "policy/cap_effect.hpp"
#include "policy/peak_ahead.hpp"
#include "policy/start_values.hpp"
#include "reactor/signals.hpp"
#include "reactor/task_group.hpp"
#include "reactor/timer_fd.hpp"
#include "reactor/watchdog.hpp"
#include "reactor/worker.hpp"
#include "store/journal.hpp"
#include "store/lmdb_env.hpp"

namespace koordlet {
class RuntimeHooks;
}
namespace koordlet::runtime {
class NriConnection;
class SystemdBus;
class UnitSync;
}  // namespace koordlet::runtime

namespace koordlet::app {

/// The wiring: owns every module, moves values between them, and holds no rule of its own. One
/// object a process; everything runs on the loop thread but the two helper threads' jobs.
class Daemon {
 public:
  explicit Daemon(const LoadedConfig& loaded);
  ~Daemon();
  /// Opens what must be there; the error is the one line that says why koordlet does not start.
  Result<void> open();
  /// Until a signal or a failed task; returns the exit code.
  int run();

 private:
  /// What a wake-up of the tick loop is for. A tick evaluates and may relax; the others tighten.
  struct Due {
    bool tick = false;
    bool fast = false;
    bool change = false;
    bool any() const { return tick || fast || change; }
  };

  // daemon.cpp: start and stop
  Result<void> open_state();
  boost::asio::awaitable<void> supervise();
  boost::asio::awaitable<Result<void>> prepare();
  boost::asio::awaitable<void> stop();
  void restore_all(const std::string& why);
  std::vector<Outcome> restore_by_request();
  void on_task_exit(const std::string& name, const std::exception_ptr& failure);

  // daemon_tick.cpp: one tick as data
  boost::asio::awaitable<void> tick_timer();
  boost::asio::awaitable<void> fast_timer();
  boost::asio::awaitable<void> tick_loop();
  boost::asio::awaitable<void> collect_loop();
  boost::asio::awaitable<void> run_tick(Due due);
  boost::asio::awaitable<void> apply(bool only_if_changed);
  void run_evictions(const Snapshot& snapshot);
  void wake(Due due);
  void on_state_change();
  void collect_within(std::chrono::seconds delay);
  void adopt_caps(const std::vector<ResourceExecutor::Held>& held);
  Snapshot build_snapshot(bool may_relax);
  std::optional<BeRoot> read_be_root() const;
  void look_for_files(const CgroupPath& group);
  std::optional<MilliCpu> root_cap() const;  ///< of BE, as decided; nullopt: none holds
  MilliCpu capacity() const;

  // daemon_log.cpp: what goes to the log and into the audit
  void log_evictions(const std::vector<EvictionOutcome>& outcomes);
  void log_evict_phases();
  void log_outcomes(const std::vector<Outcome>& outcomes);
  void note_outcome(const Outcome& outcome, bool news);
  void log_level();
  void log_first_state();
  static void log_faults(const std::string& subject,
                         const std::vector<std::string>& faults,
                         std::set<std::string>& known);

  // daemon_interference.cpp: windows of LS pods, PSI triggers, what was learned
  void open_interference();
  boost::asio::awaitable<void> interference_loop();
  boost::asio::awaitable<void> watch_pressure(std::string path, std::string trigger);
  boost::asio::awaitable<void> load_baselines();
  void save_baselines();
  void log_interference();
  std::vector<LsSignal> ls_signals() const;
  bool is_interfered() const;

  // daemon_levers.cpp: what caches, disks and core scheduling need beside the control files
  void open_levers();
  boost::asio::awaitable<void> load_levers();
  boost::asio::awaitable<void> lever_loop();
  void restore_levers();
  void follow_resizes();
  void add_levers(Snapshot& s);
  void log_levers();
  void add_levers(StatusView::Qos& q) const;

  // daemon_reclaim.cpp: memory.reclaim of the BE root
  void open_reclaim();
  void run_reclaim();

  // daemon_units.cpp: systemd, which owns slices and scopes
  void open_units();
  boost::asio::awaitable<void> unit_loop();
  boost::asio::awaitable<void> drain_units();
  void log_units();
  void add_units(StatusView& v) const;

  // daemon_caps.cpp: what the caps do
  void watch_caps(const Snapshot& snapshot);
  void note_effect(const policy::CapEffect& effect);
  policy::CapFacts cap_facts(const CgroupKey& key) const;
  std::optional<bool> has_tasks(const CgroupPath& path, int depth, int& left) const;
  void find_ineffective(const Snapshot& snapshot, const DesiredTable& desired);
  void note_ineffective(const NodeState& state, const policy::CapFault& fault);
  void note_starvation();
  void add_caps(StatusView& v) const;

  // daemon_hooks.cpp: what the runtime is answered
  Result<void> open_hooks();
  void push_hooks(const Snapshot& snapshot);
  void update_cpu_pools(const Snapshot& snapshot);
  void update_weight_rules(const Snapshot& snapshot);
  void add_verbs(MonoTime now, policy::HookWorld& world);
  void log_hooks();
  void add_hooks(StatusView& v) const;

  // daemon_predict.cpp: peaks to come
  void open_predict();
  boost::asio::awaitable<void> predict_loop();
  void keep_forecast(const policy::Prediction& node);
  void watch_peak(const policy::Prediction& node);
  void add_predictions(StatusView& v) const;
  void add_reclaimable(ReportInput& input) const;

  // daemon_recorder.cpp: what the flight recorder is told
  void open_recorder();
  void record_before_step();
  void record_tick(Snapshot snapshot);
  void add_recorder(StatusView& v) const;

  // daemon_report.cpp: what NodeMetric and NodeResourceTopology are made of
  boost::asio::awaitable<Result<ReportInput>> gather_report();
  boost::asio::awaitable<Result<TopologyInput>> gather_topology();

  // daemon_status.cpp: what the API shows
  StatusView view() const;
  void add_inputs(StatusView& v) const;
  void add_qos(StatusView& v) const;
  void add_evictions(StatusView& v) const;
  void add_executor(StatusView& v) const;
  void add_interference(StatusView& v) const;
  void add_figures(StatusView& v) const;
  bool ready(std::vector<std::string>* why) const;

  const LoadedConfig& loaded_;
  const Config& config_;
  SystemClock clock_;
  MonoTime started_;
  std::string boot_id_;
  CgroupVersion version_ = CgroupVersion::kV1;
  bool has_bvt_ = false;
  /// Control files of a class group that not every kernel has.
  struct Files {
    bool known = false;  ///< looked for
    bool burst = false, memory_min = false, memory_reclaim = false, memory_vendor = false,
         page_cache_limit = false;
  };
  Files files_;
  CpuTopology topology_;
  StatusView::Hardware hardware_;

  boost::asio::io_context io_{1};
  reactor::Signals process_signals_{io_.get_executor()};  ///< before any helper thread
  std::optional<store::LmdbEnv> state_env_;
  std::optional<store::Journal> journal_;
  std::unique_ptr<reactor::Worker> storage_;
  std::unique_ptr<kernel::CgroupFs> cgroups_;
  std::unique_ptr<kernel::CgroupFs> reclaim_cgroups_;  ///< of the reclaim thread alone
  std::unique_ptr<reactor::Worker> reclaim_;
  std::unique_ptr<kernel::CgroupCounters> be_counters_;  ///< memory of the BE root, each tick
  std::unique_ptr<MetricCache> cache_;
  std::unique_ptr<CachedHistory> history_;  ///< reads cache_
  std::unique_ptr<ControlPlane> control_;
  bool control_started_ = false;
  std::unique_ptr<StatesInformer> states_;
  std::unique_ptr<MetricAdvisor> advisor_;
  std::unique_ptr<InterferenceWatch> interference_;
  std::unique_ptr<QosManager> qos_;
  std::unique_ptr<runtime::SystemdBus> systemd_;  ///< nullptr: files only
  std::unique_ptr<runtime::UnitSync> units_;      ///< uses systemd_
  std::unique_ptr<ResourceExecutor> executor_;    ///< tells units_
  std::unique_ptr<MemoryReclaimer> reclaimer_;    ///< on reclaim_
  std::unique_ptr<RuntimeHooks> hooks_;           ///< nullptr: switched off
  std::unique_ptr<runtime::NriConnection> nri_;   ///< tells hooks_
  bool hooks_spawned_ = false;
  std::string hooks_logged_;
  std::optional<MonoTime> weight_rules_at_;
  WeightRules weight_rules_;
  std::shared_ptr<const NodeCpuPools> cpu_pools_;
  std::optional<MonoTime> cpu_pools_at_;
  std::uint64_t cpu_pools_version_ = 0;  ///< of the state that they follow from
  kernel::VerbsDevices verbs_;
  std::optional<MonoTime> verbs_at_;
  std::unique_ptr<PredictServer> predict_;  ///< nullptr: switched off
  policy::PeakWatch peak_watch_;
  std::unique_ptr<FlightRecorder> recorder_;               ///< nullptr: switched off
  std::optional<store::TickFrame::Evict> recorded_evict_;  ///< of this tick
  std::unique_ptr<StatusApi> api_;
  std::unique_ptr<reactor::Watchdog> watchdog_;
  reactor::TaskGroup tasks_;

  boost::asio::steady_timer wake_;
  Due due_;
  bool near_ = false;    ///< node use is near a threshold: poll class counters
  bool paused_ = false;  ///< everything was restored by request; only shown until a restart
  std::optional<NodeSignals> signals_;        ///< newest, full or fast
  std::map<CgroupKey, CgroupValue> applied_;  ///< wishes of the last batch
  std::vector<Outcome> last_outcomes_;        ///< without kUnchanged
  AuditLog audit_{2000};
  std::optional<BeRoot> be_root_;
  std::uint64_t missed_ticks_ = 0;
  std::string last_level_;
  bool state_logged_ = false;
  std::array<policy::EvictPhase, policy::kEvictPlugins> last_evict_phases_{};  ///< as logged
  /// One PSI trigger, as shown.
  struct PressureWatch {
    std::string trigger;
    std::string fault;  ///< why it does not watch; "" while it does
    std::uint64_t events = 0;
  };
  std::map<std::string, PressureWatch> pressure_watches_;  ///< by path
  std::map<std::string, bool> interfered_;                 ///< by pod uid, as logged
  std::optional<MonoTime> baselines_saved_;
  boost::asio::steady_timer collect_wait_;
  MonoTime collect_due_;
  int collect_soon_ = 2;                             ///< passes that follow each other quickly
  std::map<CgroupKey, std::string> refused_;         ///< as logged
  std::set<std::string> state_faults_, slo_faults_;  ///< as logged
  std::set<std::string> lever_faults_;               ///< as logged
  std::shared_ptr<const KubeletCpus> kubelet_cpus_;  ///< nullptr: no rule needs it
  MonoTime kubelet_cpus_at_;
  std::string unit_fault_, unit_error_;  ///< as logged
  std::shared_ptr<const StorageTable> storage_table_;
  MonoTime storage_table_at_;
  std::shared_ptr<const NodeState> last_state_;  ///< what resizes are told from
  std::unique_ptr<ResctrlGroups> resctrl_;
  std::unique_ptr<CoreCookies> cookies_;
  struct Caps {
    policy::EffectState effects;
    policy::CapTracks tracks;
    std::map<CgroupKey, policy::CapFault> ineffective;
    std::set<std::string> starving;  ///< as logged
  };
  Caps caps_;
  std::map<std::string, std::chrono::microseconds> stages_;
  std::vector<StatusView::Capability> capabilities_;
  bool stopping_ = false;
  int exit_code_ = 0;
};

}  // namespace koordlet::app
