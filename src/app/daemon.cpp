#include "app/daemon.hpp"

#include <csignal>
#include <cstdio>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <fmt/format.h>

#include "app/daemon_impl.hpp"
#include "app/doctor.hpp"
#include "base/log.hpp"
#include "kernel/probe.hpp"
#include "modules/runtime_hooks/runtime_hooks.hpp"
#include "runtime/nri_connection.hpp"
#include "runtime/systemd_bus.hpp"
#include "runtime/unit_sync.hpp"

namespace koordlet::app {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kReclaimDescriptors = 64;               // it only writes
constexpr auto kStopGrace = std::chrono::milliseconds{3000};  // of the 5 s that a stop may take
constexpr std::size_t kDescriptorReserve = 512;               // sockets, LMDB, logs

/// Kept-open control files are the price of cheap reads: take what the hard limit allows.
std::size_t descriptor_budget() {
  const auto limit = kernel::raise_descriptor_limit();
  if (!limit) {
    log::warn("limits", fmt::format("{}, ignoring", limit.error().context));
    return 1024 - kDescriptorReserve;
  }
  const auto soft = static_cast<std::size_t>(limit->soft);
  return soft > 2 * kDescriptorReserve ? soft - kDescriptorReserve : soft / 2;
}

}  // namespace

Daemon::Daemon(const LoadedConfig& loaded)
    : loaded_{loaded},
      config_{loaded.config},
      started_{clock_.now()},
      tasks_{io_.get_executor(),
             [this](const auto& name, const auto& e) { on_task_exit(name, e); }},
      wake_{io_, asio::steady_timer::time_point::max()},
      collect_wait_{io_} {}

Daemon::~Daemon() = default;

Result<void> Daemon::open_state() {
  auto env = store::LmdbEnv::open(state_env_options(config_));
  if (!env) return wrap("state store", env.error());
  state_env_.emplace(std::move(*env));
  if (!state_env_->moved_aside().empty()) {
    log::error(
        "state store",
        fmt::format("was damaged and is set aside as {}: originals of an earlier run are lost; {}",
                    state_env_->moved_aside(),
                    state_env_->aside_reason()));
  }
  journal_.emplace(*state_env_);
  return {};
}

Result<void> Daemon::open() {
  const auto version = kernel::detect_cgroup_version(config_.host);
  if (!version) return wrap("host.cgroup_root", version.error());
  version_ = *version;
  if (!config_.executor.dry_run) {
    const auto writable = kernel::probe_cgroup_write(config_.host, version_);
    if (!writable) {
      auto error = wrap("host.cgroup_root", writable.error());
      error.context += " (executor.dry_run = true runs without writing)";
      return error;
    }
  }
  const auto boot_id = kernel::read_boot_id(config_.host);
  if (!boot_id) return wrap("boot id", boot_id.error());
  boot_id_ = *boot_id;
  if (const auto state = open_state(); !state) return state.error();
  const auto budget = descriptor_budget();

  storage_ = std::make_unique<reactor::Worker>("storage");
  cgroups_ = std::make_unique<kernel::CgroupFs>(config_.host, version_, budget / 4);
  be_counters_ = std::make_unique<kernel::CgroupCounters>(config_.host, version_, 8);
  cache_ = std::make_unique<MetricCache>(metric_cache_config(config_), *storage_, clock_);
  history_ = std::make_unique<CachedHistory>(*cache_, clock_);
  ControlPlane::Hooks hooks;
  hooks.gather_report = [this] { return gather_report(); };
  hooks.gather_topology = [this] { return gather_topology(); };
  hooks.still_there = [this](std::string_view uid) {
    const auto state = states_->state();  // find_pod points into it
    const auto* pod = find_pod(*state, uid);
    return pod != nullptr && is_active(*pod) && !pod->terminating;
  };
  auto control = ControlPlane::open(io_.get_executor(), config_, std::move(hooks), clock_);
  if (!control) return control.error();
  control_ = std::move(*control);
  auto informer = config_.states.informer;
  informer.node_name = node_name_of(config_);
  states_ = std::make_unique<StatesInformer>(
      io_.get_executor(),
      std::move(informer),
      StatesInformer::Remote{control_->api(), control_->kubelet(), &*state_env_},
      *cgroups_,
      config_.host,
      clock_,
      storage_.get());
  advisor_ =
      std::make_unique<MetricAdvisor>(config_.collect, config_.host, version_, clock_, budget / 2);
  advisor_->use_runtimes(io_.get_executor());
  interference_ = std::make_unique<InterferenceWatch>(
      config_.interference, config_.host, *cgroups_, clock_, budget / 8);
  qos_ = std::make_unique<QosManager>(config_.qos.policy);
  executor_ = std::make_unique<ResourceExecutor>(
      config_.executor, *cgroups_, &*journal_, storage_.get(), clock_, boot_id_);
  reclaim_cgroups_ =
      std::make_unique<kernel::CgroupFs>(config_.host, version_, kReclaimDescriptors);
  reclaim_ = std::make_unique<reactor::Worker>("reclaim");
  executor_->use_reclaim_thread(*reclaim_, *reclaim_cgroups_);
  open_reclaim();
  open_units();
  open_levers();
  open_predict();
  open_recorder();
  if (const auto hooks = open_hooks(); !hooks) return hooks.error();
  api_ = std::make_unique<StatusApi>(
      io_.get_executor(),
      config_.status,
      [this] { return view(); },
      [this] { return restore_by_request(); },
      history_.get());
  watchdog_ = std::make_unique<reactor::Watchdog>();

  if (const auto loaded = states_->load(); !loaded) return loaded.error();
  if (const auto cpus = kernel::read_topology(config_.host)) {
    for (const auto& c : *cpus) topology_.push_back({c.cpu, c.core, c.socket, c.numa});
  } else {
    log::warn("topology", fmt::format("{}, ignoring: no cpuset policy", cpus.error().context));
  }
  if (auto model = kernel::read_cpu_model(config_.host)) hardware_.cpu = std::move(*model);
  hardware_.smt = kernel::read_smt_active(config_.host);
  if (auto caches = kernel::read_caches(config_.host)) {
    hardware_.caches = std::move(*caches);
  } else {
    log::warn("caches", fmt::format("{}, ignoring", caches.error().context));
  }
  capabilities_ = to_capabilities(examine_host(config_));
  interference_->open();
  return api_->open();
}

asio::awaitable<Result<void>> Daemon::prepare() {
  const auto cache = co_await cache_->open();
  if (!cache) co_return wrap("metric store", cache.error());
  const auto adopted = co_await executor_->adopt();
  if (!adopted) co_return wrap("journal", adopted.error());
  if (const auto layout = states_->layout()) {
    has_bvt_ = cgroups_->has({layout->tier(KubeQos::kBestEffort), CgroupFile::kCpuBvt});
  }
  adopt_caps(*adopted);
  co_await load_baselines();
  co_await load_levers();
  co_return Result<void>{};
}

void Daemon::on_task_exit(const std::string& name, const std::exception_ptr& failure) {
  if (stopping_) return;
  std::string why = "ended by itself";
  try {
    if (failure) std::rethrow_exception(failure);
  } catch (const std::exception& e) {
    why = e.what();
  }
  log::error(name, fmt::format("task failed: {}: koordlet stops", why));
  exit_code_ = 1;
  asio::co_spawn(io_, stop(), asio::detached);
}

asio::awaitable<void> Daemon::supervise() {
  const auto prepared = co_await prepare();
  if (!prepared) {
    std::fprintf(stderr, "koordlet: %s\n", prepared.error().context.c_str());
    exit_code_ = 1;
    stopping_ = true;
    co_return;
  }
  const auto state = states_->state();
  log_faults("states", state->faults, state_faults_);
  log::info("koordlet",
            fmt::format("version {} runs: cgroup {}, {} pods, node {}{}",
                        KOORDLET_VERSION,
                        to_string(version_),
                        state->pods.size(),
                        state->node ? state->node->name : "unknown",
                        config_.executor.dry_run ? ", dry run" : ""));
  states_->on_change([this] { on_state_change(); });
  tasks_.spawn("status api", api_->run());
  tasks_.spawn("watchdog", watchdog_->run());
  tasks_.spawn("metric cache", cache_->run());
  tasks_.spawn("states informer", states_->run());
  tasks_.spawn("collect", collect_loop());
  open_interference();
  if (predict_) tasks_.spawn("predict", predict_loop());
  if (systemd_) tasks_.spawn("systemd", unit_loop());
  tasks_.spawn("tick", tick_loop());
  tasks_.spawn("levers", lever_loop());
  tasks_.spawn("tick timer", tick_timer());
  tasks_.spawn("fast timer", fast_timer());
  wake({.tick = true});
}

asio::awaitable<void> Daemon::stop() {
  if (stopping_) co_return;
  stopping_ = true;
  tasks_.request_stop();
  const bool all = co_await tasks_.join(kStopGrace);
  save_baselines();
  if (predict_) predict_->save_all();
  if (recorder_) recorder_->flush();
  if (!all) {
    exit_code_ = 1;
    log::error("koordlet",
               fmt::format("tasks did not stop in time: {}", fmt::join(tasks_.live_names(), ", ")));
  }
  if (config_.qos.on_shutdown == OnShutdown::kRestore) {
    restore_all("stop");
    restore_levers();
    co_await drain_units();
  }
  io_.stop();
}

void Daemon::restore_all(const std::string& why) {
  std::size_t restored = 0;
  for (const auto& o : executor_->restore_all()) {
    if (o.kind == OutcomeKind::kWritten) ++restored;
    if (o.kind != OutcomeKind::kRefused && o.kind != OutcomeKind::kPending) continue;
    exit_code_ = 1;
    log::error("restore", fmt::format("{}: {}", to_string(o.key), o.error));
  }
  log::info("restore",
            fmt::format("{}: {} cgroup files have their original value again", why, restored));
}

std::vector<Outcome> Daemon::restore_by_request() {
  paused_ = true;
  applied_.clear();
  auto outcomes = executor_->restore_all();
  AuditEvent event;
  event.at = clock_.now();
  event.kind = AuditKind::kPolicy;
  event.after = "paused";
  event.reason = "restore was asked for over the socket";
  audit_.add(std::move(event));
  for (const auto& o : outcomes) note_outcome(o, true);
  restore_levers();
  log::warn(
      "restore",
      fmt::format("asked over the socket: {} cgroup files restored; koordlet only watches until it "
                  "is started again",
                  outcomes.size()));
  return outcomes;
}

int Daemon::run() {
  asio::co_spawn(io_, supervise(), [this](const std::exception_ptr& e) {
    if (e) on_task_exit("start", e);
    if (stopping_ && exit_code_ != 0 && tasks_.live() == 0) io_.stop();
  });
  const auto wait_for_signal = [](Daemon& self, reactor::Signals& source) -> asio::awaitable<void> {
    for (;;) {
      const auto signal = co_await source.next();
      if (!signal) co_return;
      if (*signal == SIGHUP) {
        log::info("koordlet", "SIGHUP: logs go to stderr, there is nothing to reopen");
        continue;
      }
      log::info("koordlet", fmt::format("signal {}: stopping", *signal));
      co_await self.stop();
      co_return;
    }
  };
  asio::co_spawn(io_, wait_for_signal(*this, process_signals_), asio::detached);
  watchdog_->drive(io_);
  return exit_code_;
}

int run_daemon(const LoadedConfig& config) {
  log::start(config.config.log);
  int code = 1;
  {
    Daemon daemon{config};
    const auto opened = daemon.open();
    if (opened) {
      code = daemon.run();
    } else {
      std::fprintf(stderr, "koordlet: %s\n", opened.error().context.c_str());
    }
  }
  log::stop();
  return code;
}

}  // namespace koordlet::app
