#include "app/simulation.hpp"

#include <algorithm>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "modules/qos_manager/qos_manager.hpp"
#include "modules/resource_executor/resource_executor.hpp"
#include "sim/node_model.hpp"

namespace koordlet::app {
namespace {

namespace asio = boost::asio;
using sim::milliseconds;

constexpr std::size_t kRefusalsShown = 10;
constexpr std::chrono::seconds kFastCollect{10};  // as the daemon does while the level is HIGH

policy::QosConfig policy_of(const sim::Scenario& scenario, const Config& config) {
  policy::QosConfig out = config.qos.policy;
  const auto sample = std::chrono::ceil<std::chrono::seconds>(scenario.sample_interval).count();
  out.node_stale_seconds = std::max(out.node_stale_seconds, static_cast<int>(3 * sample));
  return out;
}

class Simulation {
 public:
  Simulation(const sim::Scenario& scenario,
             const Config& config,
             const SimulationObserver& observer)
      : scenario_{scenario},
        config_{config},
        observer_{observer},
        tree_{scenario.node.cgroup, scenario.node.cpus},
        node_{scenario, tree_},
        qos_{policy_of(scenario, config)},
        executor_{config.executor, tree_, nullptr, nullptr, clock_, "simulated"} {}

  sim::Timeline run(const std::function<void(milliseconds)>& progress) {
    const auto tick = config_.qos.interval;
    const auto steps = scenario_.duration / tick;
    out_.rows.reserve(static_cast<std::size_t>(steps));
    for (milliseconds from{0}; from < scenario_.duration; from += tick) {
      for (; event_ < scenario_.events.size() && scenario_.events[event_].at <= from; ++event_) {
        node_.apply(scenario_.events[event_]);
      }
      // What ran before the first reading is in no counter difference.
      if (from == scenario_.koordlet_from) start();
      step(from, tick);
      if (progress) progress(from + tick);
    }
    out_.writes = executor_.counters().writes;
    out_.refused_writes = executor_.counters().refused;
    return std::move(out_);
  }

 private:
  void start() {
    static_cast<void>(node_.sample(clock_.now()));
    node_.collect_pods(clock_.now());
    started_ = true;
  }

  void step(milliseconds from, milliseconds tick) {
    sim::Row row;
    row.at = from + tick;
    row.length = tick;
    row.use = node_.step(from, tick);
    row.use_percent = 100 * row.use.used() / scenario_.node.cpus;
    row.memory_percent =
        100 * static_cast<double>(row.use.memory.v) / static_cast<double>(scenario_.node.memory.v);
    row.be_slowdown_percent = sim::slowdown_percent(row.use.be_demand, row.use.be_used);
    clock_.set(row.at);
    if (started_) row.sampled = read(row.at);
    if (signals_) decide(row.at);
    const auto& state = qos_.status().pressure;
    row.watched = signals_.has_value();
    row.level = state.level;
    row.factor_permille = state.factor_permille;
    row.below_exit = state.below_exit;
    row.root_cap = state.root_cap;
    row.be_cap_after = node_.be_cap();
    row.be_held_after = node_.disk_use().be_held;
    out_.rows.push_back(std::move(row));
  }

  /// True: a new node sample.
  bool read(milliseconds at) {
    const auto since = at - scenario_.koordlet_from;
    if (since >= collect_due_ || want_fresh_pods_) {
      node_.collect_pods(clock_.now());
      milliseconds pause = config_.collect.collect_interval;
      if (qos_.status().pressure.level == policy::Level::kHigh) {
        pause = std::min<milliseconds>(pause, kFastCollect);
      }
      collect_due_ = since + pause;
      want_fresh_pods_ = false;
    }
    if (since % scenario_.sample_interval != milliseconds{0}) return false;
    signals_ = node_.sample(clock_.now());
    return true;
  }

  Snapshot snapshot() {
    Snapshot s;
    s.now = clock_.now();
    s.cgroup_version = tree_.version();
    s.state = node_.state(s.now);
    s.signals = signals_;
    s.pods = node_.pods();
    s.be_root = node_.be_root();
    s.topology = node_.topology();
    s.kubelet_cpus = kubelet_cpus_;
    s.has_memory_reclaim = tree_.version() == CgroupVersion::kV2;
    s.protected_cache = qos_.status().memory_qos.summary.protected_cache;
    // As the daemon: read while a rule of the last step needs it.
    if (qos_.status().effective.blkio.any()) s.storage = node_.storage();
    return s;
  }

  void decide(milliseconds at) {
    const auto snap = snapshot();
    if (observer_.before_step) observer_.before_step(qos_);
    static_cast<void>(qos_.step(snap));
    evict(snap, at);
    if (!qos_.status().ready) return;
    reclaim();
    asio::co_spawn(io_,
                   executor_.apply(qos_.desired(), clock_.now()),
                   [this](const std::exception_ptr& failure, const std::vector<Outcome>& outcomes) {
                     if (failure) std::rethrow_exception(failure);
                     note(outcomes);
                   });
    io_.restart();
    io_.run();
  }

  /// Each wish once; it is done within the tick.
  void reclaim() {
    const auto& wish = qos_.status().memory_soften.reclaim;
    if (!wish || wish->at == reclaimed_at_) return;
    reclaimed_at_ = wish->at;
    ++out_.reclaims;
    out_.reclaimed += node_.reclaim(wish->amount);
  }

  void note(const std::vector<Outcome>& outcomes) {
    for (const auto& o : outcomes) {
      if (o.kind != OutcomeKind::kRefused || out_.refusals.size() >= kRefusalsShown) continue;
      const bool known =
          std::find(out_.refusals.begin(), out_.refusals.end(), o.error) != out_.refusals.end();
      if (!known) out_.refusals.push_back(o.error);
    }
  }

  /// The API server takes one wish a tick, and its answer is there with the next.
  void evict(const Snapshot& snap, milliseconds at) {
    policy::EvictInput input;
    input.api_ok = node_.api_answers();
    input.outcomes = std::move(outcomes_);
    outcomes_.clear();
    auto wanted = qos_.evict(snap, input);
    want_fresh_pods_ = wanted.want_fresh_pods;
    if (observer_.after_step) observer_.after_step(snap, qos_, input, wanted.wishes);
    if (wanted.wishes.empty() || !input.api_ok) return;
    const auto& wish = wanted.wishes.front();
    EvictionOutcome outcome;
    outcome.wish = wish;
    outcome.at = clock_.now();
    const bool taken = node_.evict(wish.uid, at);
    outcome.result = taken ? EvictionResult::kAccepted : EvictionResult::kGone;
    if (taken) out_.evictions.push_back({at, wish.name, wish.reason});
    outcomes_.push_back(std::move(outcome));
  }

  const sim::Scenario& scenario_;
  const Config& config_;
  const SimulationObserver& observer_;
  sim::VirtualClock clock_;
  sim::CgroupTree tree_;
  sim::NodeModel node_;
  asio::io_context io_{1};
  QosManager qos_;
  ResourceExecutor executor_;
  sim::Timeline out_;
  std::size_t event_ = 0;
  bool started_ = false;
  bool want_fresh_pods_ = false;
  milliseconds collect_due_{0};  ///< since the start
  std::optional<NodeSignals> signals_;
  std::vector<EvictionOutcome> outcomes_;
  std::optional<MonoTime> reclaimed_at_;
  /// The modelled kubelet gives no pod CPUs of its own.
  std::shared_ptr<const KubeletCpus> kubelet_cpus_ =
      std::make_shared<const KubeletCpus>(KubeletCpus{KubeletCpuPolicy::kNone, {}, {}});
};

}  // namespace

sim::Timeline simulate(const sim::Scenario& scenario,
                       const Config& config,
                       const std::function<void(milliseconds)>& progress,
                       const SimulationObserver& observer) {
  return Simulation{scenario, config, observer}.run(progress);
}

}  // namespace koordlet::app
