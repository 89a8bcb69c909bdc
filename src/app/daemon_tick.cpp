#include <algorithm>

#include <fmt/format.h>

#include "app/daemon_impl.hpp"
#include "base/log.hpp"
#include "kernel/memory_reclaim.hpp"

namespace koordlet::app {
namespace {

namespace asio = boost::asio;
using reactor::use_ec;
using std::chrono::microseconds;

constexpr auto kFastCollect = std::chrono::seconds{10};  // while the level is HIGH
constexpr auto kFreshCollect = std::chrono::seconds{2};  // while a victim is to be chosen
constexpr auto kSoonCollect = std::chrono::seconds{1};   // after the pods changed

/// Notes how long a stage took when it goes out of scope.
class Stage {
 public:
  explicit Stage(microseconds& out) : out_{out}, start_{std::chrono::steady_clock::now()} {}
  ~Stage() {
    out_ = std::chrono::duration_cast<microseconds>(std::chrono::steady_clock::now() - start_);
  }
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

 private:
  microseconds& out_;
  std::chrono::steady_clock::time_point start_;
};

/// In place: most stay from tick to tick.
void take_wishes(const DesiredTable& table, std::map<CgroupKey, CgroupValue>& applied) {
  auto at = applied.begin();
  for (const auto& [key, desired] : table) {
    while (at != applied.end() && at->first < key) at = applied.erase(at);
    if (at == applied.end() || key < at->first) {
      applied.emplace_hint(at, key, desired.value);
      continue;
    }
    if (at->second != desired.value) at->second = desired.value;
    ++at;
  }
  applied.erase(at, applied.end());
}

bool same_wishes(const DesiredTable& table, const std::map<CgroupKey, CgroupValue>& applied) {
  return table.size() == applied.size() &&
         std::equal(table.begin(), table.end(), applied.begin(), [](const auto& a, const auto& b) {
           return a.first == b.first && a.second.value == b.second;
         });
}

}  // namespace

void Daemon::wake(Due due) {
  due_.tick |= due.tick;
  due_.fast |= due.fast;
  due_.change |= due.change;
  wake_.cancel();
}

asio::awaitable<void> Daemon::tick_timer() {
  reactor::TimerFd timer{io_.get_executor(), config_.qos.interval};
  for (;;) {
    const auto ec = co_await timer.wait();
    if (ec) co_return;
    missed_ticks_ = timer.missed();
    wake({.tick = true});
  }
}

asio::awaitable<void> Daemon::fast_timer() {
  reactor::TimerFd timer{io_.get_executor(), config_.qos.fast_poll};
  for (;;) {
    const auto ec = co_await timer.wait();
    if (ec) co_return;
    if (near_) wake({.fast = true});
  }
}

/// One batch at a time: what becomes due during a tick is done after it, together.
asio::awaitable<void> Daemon::tick_loop() {
  for (;;) {
    while (!due_.any()) {
      wake_.expires_at(asio::steady_timer::time_point::max());
      co_await wake_.async_wait(use_ec);
      const auto state = co_await asio::this_coro::cancellation_state;
      if (reactor::is_stopped(state)) co_return;
    }
    const auto due = std::exchange(due_, Due{});
    co_await run_tick(due);
  }
}

asio::awaitable<void> Daemon::run_tick(Due due) {
  const Stage whole{stages_["tick"]};
  const auto state = states_->state();
  const auto layout = states_->layout();
  bool sampled = false;
  {
    const Stage stage{stages_["sample"]};
    // A change alone decides on the signals that are there.
    if (due.tick) {
      if (auto s = advisor_->sample_node(*state, layout)) {
        signals_ = std::move(s);
        sampled = true;
        if (predict_) predict_->note_node(*signals_);
      }
      cache_->append(clock_.now(), advisor_->take_samples());
      // After the first sample, so that every report follows right behind a sample.
      if (!control_started_) control_->start(tasks_, *state);
      control_started_ = true;
    } else if (due.fast) {
      if (auto s = advisor_->sample_classes(*state, layout)) {
        signals_ = std::move(s);
        sampled = true;
      }
    }
  }
  // Before the first sample nothing is known: what an earlier run left in the kernel stays.
  if (!signals_ || (!sampled && !due.tick && !due.change)) co_return;
  std::optional<Snapshot> seen;
  {
    const Stage stage{stages_["decide"]};
    seen = build_snapshot(due.tick);
    record_before_step();
    static_cast<void>(qos_->step(*seen));
    run_evictions(*seen);
    run_reclaim();
    watch_caps(*seen);
  }
  if (due.tick)
    advisor_->note_decision(static_cast<int>(qos_->status().pressure.level), root_cap());
  push_hooks(*seen);
  record_tick(std::move(*seen));
  qos_->note_duration(stages_["decide"]);
  log_level();
  log_faults("nodeslo", qos_->status().effective.faults, slo_faults_);
  log_levers();
  control_->note_level(qos_->status().pressure.level == policy::Level::kHigh &&
                       !qos_->status().effective.off);
  near_ = qos_->near_threshold(*signals_, capacity());
  co_await apply(!due.tick);
}

/// Whom to evict; carried out by the evictor, whose outcomes come back with a later tick.
void Daemon::run_evictions(const Snapshot& snapshot) {
  if (paused_ || stopping_) {
    control_->evict({});  // nothing that waits is sent any more
    return;
  }
  policy::EvictInput input;
  input.outcomes = control_->take_eviction_outcomes();
  for (const auto& r : states_->health()) {
    if (r.name == "pods") input.api_ok = control_->api() != nullptr && r.synced && r.fault.empty();
  }
  log_evictions(input.outcomes);
  auto wanted = qos_->evict(snapshot, input);
  if (recorder_) recorded_evict_ = {input.api_ok, std::move(input.outcomes), wanted.wishes};
  log_evict_phases();
  if (wanted.want_fresh_pods) collect_within(kFreshCollect);
  control_->evict(std::move(wanted.wishes));
}

asio::awaitable<void> Daemon::apply(bool only_if_changed) {
  if (paused_ || stopping_ || !qos_->status().ready) co_return;
  const auto& desired = qos_->desired();
  if (only_if_changed && same_wishes(desired, applied_)) co_return;
  take_wishes(desired, applied_);
  const Stage stage{stages_["apply"]};
  const auto outcomes = co_await executor_->apply(desired, clock_.now());
  if (recorder_) recorder_->note_outcomes(outcomes);
  log_outcomes(outcomes);
}

std::optional<MilliCpu> Daemon::root_cap() const {
  const auto cap = qos_->status().pressure.root_cap;
  if (cap.v <= 0 || paused_ || !be_root_) return std::nullopt;
  return cap;
}

MilliCpu Daemon::capacity() const {
  const auto state = states_->state();
  return state->node ? state->node->cpu_capacity : MilliCpu{};
}

std::optional<BeRoot> Daemon::read_be_root() const {
  const auto layout = states_->layout();
  if (!layout) return std::nullopt;
  BeRoot out;
  out.path = layout->tier(KubeQos::kBestEffort);
  const auto cpu_max = cgroups_->read({out.path, CgroupFile::kCpuMax});
  // Only a class that is gone loses its wishes: one failed read must not give its caps back.
  if (!cpu_max) return cpu_max.error().code == Errc::kNotFound ? std::nullopt : be_root_;
  out.cpu_max = std::get<CpuMax>(*cpu_max);
  if (auto set = kernel::read_effective_cpus(config_.host, version_, out.path)) out.cpuset = *set;
  if (const auto memory = be_counters_->memory_usage(out.path)) out.memory = *memory;
  return out;
}

/// Once, when there is a class group to look at.
void Daemon::look_for_files(const CgroupPath& group) {
  files_.known = true;
  files_.burst = cgroups_->has({group, CgroupFile::kCpuBurst});
  files_.memory_min = cgroups_->has({group, CgroupFile::kMemoryMin});
  files_.memory_reclaim = kernel::has_memory_reclaim(config_.host, version_, group);
  files_.memory_vendor = cgroups_->has({group, CgroupFile::kMemoryWmarkRatio});
  files_.page_cache_limit = cgroups_->has({group, CgroupFile::kPageCacheLimitSize});
}

Snapshot Daemon::build_snapshot(bool may_relax) {
  Snapshot s;
  s.now = clock_.now();
  s.cgroup_version = version_;
  s.has_bvt = has_bvt_;
  s.state = states_->state();
  s.signals = signals_;
  s.pods = advisor_->pods();
  s.ls_signals = ls_signals();
  s.containers = &advisor_->containers();
  s.usage_valid =
      config_.collect.collect_interval * config_.qos.policy.pods_stale_intervals_tenths / 10;
  be_root_ = read_be_root();
  s.be_root = be_root_;
  if (be_root_) advisor_->note_be_root(*be_root_);
  if (be_root_ && !files_.known) look_for_files(be_root_->path);
  s.has_cpu_burst = files_.burst;
  s.has_memory_min = files_.memory_min;
  s.has_memory_reclaim = files_.memory_reclaim;
  s.protected_cache = qos_->status().memory_qos.summary.protected_cache;
  s.has_memory_vendor = files_.memory_vendor;
  s.has_page_cache_limit = files_.page_cache_limit;
  s.topology = topology_;
  s.may_relax = may_relax;
  add_levers(s);
  return s;
}

/// Pods and containers each collect interval, 10 s while the level is HIGH or a pod is interfered.
/// A rate needs two readings: at the start and after a change of pods the next two passes follow
/// within seconds, so that a new pod has figures soon.
asio::awaitable<void> Daemon::collect_loop() {
  for (;;) {
    co_await advisor_->collect_pods(states_->state());
    stages_["collect"] = advisor_->last_collect();
    if (predict_) predict_->note_pods(advisor_->pods());
    std::chrono::seconds pause = config_.collect.collect_interval;
    if (qos_->status().pressure.level == policy::Level::kHigh || is_interfered())
      pause = std::min(pause, kFastCollect);
    if (collect_soon_ > 0) {
      --collect_soon_;
      pause = kSoonCollect;
    }
    collect_due_ = clock_.now() + pause;
    while (clock_.now() < collect_due_) {
      collect_wait_.expires_at(collect_due_);
      co_await collect_wait_.async_wait(use_ec);
      const auto state = co_await asio::this_coro::cancellation_state;
      if (reactor::is_stopped(state)) co_return;
    }
  }
}

void Daemon::collect_within(std::chrono::seconds delay) {
  collect_due_ = std::min(collect_due_, clock_.now() + delay);
  collect_wait_.cancel();
}

void Daemon::on_state_change() {
  follow_resizes();
  log_faults("states", states_->state()->faults, state_faults_);
  control_->on_state_change(*states_->state());
  log_first_state();
  wake({.change = true});
  collect_soon_ = 2;
  collect_within(kSoonCollect);
}

/// Restart without a ramp from zero: the factor and the class cap that still hold in the kernel.
void Daemon::adopt_caps(const std::vector<ResourceExecutor::Held>& held) {
  std::vector<policy::Pressure::AdoptedPod> pods;
  std::optional<MilliCpu> root_cap;
  const auto state = states_->state();
  for (const auto& h : held) {
    if (h.key.file != CgroupFile::kCpuMax) continue;
    const auto value = parse_cgroup_value(CgroupFile::kCpuMax, h.kernel);
    if (!value || !std::get<CpuMax>(*value).quota.bound()) continue;
    const auto quota = *std::get<CpuMax>(*value).quota.bound();
    const auto pod = std::find_if(state->pods.begin(), state->pods.end(), [&](const auto& p) {
      return p->cgroup == h.key.path;
    });
    if (pod != state->pods.end()) {
      // A boost of another class says nothing about the factor of BE.
      const auto request = is_best_effort(**pod) ? be_cpu_request(**pod) : std::nullopt;
      if (request) pods.push_back({*request, quota});
    } else if (const auto layout = states_->layout();
               layout && h.key.path == layout->tier(KubeQos::kBestEffort)) {
      root_cap = MilliCpu{quota.count() / 100};
    }
  }
  if (!pods.empty() || root_cap) qos_->adopt(pods, root_cap, clock_.now());
  if (!held.empty())
    log::info("executor", fmt::format("adopted {} cgroup files of an earlier run", held.size()));
}

}  // namespace koordlet::app
