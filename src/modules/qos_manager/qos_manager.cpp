#include "modules/qos_manager/qos_manager.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "policy/arbiter.hpp"
#include "policy/be_view.hpp"
#include "policy/evict_victims.hpp"
#include "policy/hands_off.hpp"

namespace koordlet {
namespace {

constexpr int kNearPoints = 5;

/// "" when everything that a decision needs is there and young.
std::string stale_text(const Snapshot& snap, int stale_seconds) {
  std::string out;
  if (!snap.signals) {
    out = "node signals: none yet";
  } else if (policy::fresh_signals(snap, stale_seconds) == nullptr) {
    const auto age =
        std::chrono::duration_cast<std::chrono::milliseconds>(snap.now - snap.signals->at).count();
    out = fmt::format("node signals: {}.{} s old, expected at most {} s",
                      age / 1000,
                      age % 1000 / 100,
                      stale_seconds);
  }
  if (!policy::capacity_of(snap)) {
    out += fmt::format("{}node: CPU capacity unknown", out.empty() ? "" : "; ");
  }
  if (snap.state->pods_at == MonoTime{}) {
    out += fmt::format("{}pods: not known yet", out.empty() ? "" : "; ");
  }
  // An unread policy is not an absent one.
  if (snap.state->slo_at == MonoTime{}) {
    out += fmt::format("{}nodeslo: not known yet", out.empty() ? "" : "; ");
  }
  return out;
}

}  // namespace

struct QosManager::Impl {
  static policy::Pressure::State seed(const policy::PluginStates::Adopted& adopted,
                                      const policy::PressureConfig& config) {
    auto state = policy::Pressure::adopt(adopted.pods, config, adopted.at);
    // Dropped again by the first step when no pod without a request shares it.
    state.root_cap = adopted.root_cap.value_or(MilliCpu{});
    return state;
  }

  policy::QosConfig config;
  policy::Identity::State identity;
  std::optional<policy::PluginStates::Adopted> adopted;  ///< until the first step
  DesiredTable table;
  Status status;

  /// Runs one plugin: its state goes in and comes back, its proposals join the others.
  template <class Plugin>
  void run(const Snapshot& snap, typename Plugin::State& state, std::vector<Proposal>& all) const {
    auto decision = Plugin::decide(snap, status.effective, std::move(state));
    state = std::move(decision.state);
    if (all.empty()) {
      all = std::move(decision.proposals);
    } else {
      std::move(decision.proposals.begin(), decision.proposals.end(), std::back_inserter(all));
    }
  }
};

QosManager::QosManager(policy::QosConfig config) : impl_{std::make_unique<Impl>()} {
  impl_->config = std::move(config);
  impl_->status.effective = policy::resolve(impl_->config, nullptr, nullptr);
}

QosManager::~QosManager() = default;

void QosManager::adopt(const std::vector<policy::Pressure::AdoptedPod>& pods,
                       std::optional<MilliCpu> root_cap,
                       MonoTime now) {
  impl_->adopted = policy::PluginStates::Adopted{pods, root_cap, now};
  impl_->status.pressure = Impl::seed(*impl_->adopted, impl_->status.effective.pressure);
}

policy::PluginStates QosManager::states() const {
  const Status& s = impl_->status;
  return {impl_->adopted,
          s.ready,
          s.pressure,
          s.suppress,
          s.idle_buffer,
          s.evict,
          s.burst,
          s.memory_soften,
          s.starvation};
}

void QosManager::resume(policy::PluginStates states) {
  Status& s = impl_->status;
  impl_->adopted = std::move(states.adopted);
  s.ready = states.ready;
  s.pressure = std::move(states.pressure);
  s.suppress = std::move(states.suppress);
  s.idle_buffer = std::move(states.idle_buffer);
  s.evict = std::move(states.evict);
  s.burst = std::move(states.burst);
  s.memory_soften = std::move(states.memory_soften);
  s.starvation = std::move(states.starvation);
}

const DesiredTable& QosManager::step(const Snapshot& snapshot) {
  Status& status = impl_->status;
  const auto last_good = status.effective;
  status.effective = policy::resolve(
      impl_->config, snapshot.state->slo.get(), status.ticks > 0 ? &last_good : nullptr);
  if (impl_->adopted) {
    status.pressure = Impl::seed(*impl_->adopted, status.effective.pressure);
    impl_->adopted.reset();
  }
  status.stale = stale_text(snapshot, status.effective.node_stale_seconds);
  // Off: nothing that holds has to be kept until the inputs are there.
  const bool pods_known = snapshot.state->pods_at != MonoTime{};
  const bool off = status.effective.off && !status.effective.burst.enable.value_or(false) &&
                   !status.effective.memory_qos.any() &&
                   (pods_known || !status.effective.hooks.reconcile);
  status.ready = status.ready || off || status.stale.empty();

  const policy::Level before = status.pressure.level;
  std::vector<Proposal> proposals;
  // Any order gives the same table; the longest list first spares moving it.
  impl_->run<policy::Pressure>(snapshot, status.pressure, proposals);
  impl_->run<policy::Suppress>(snapshot, status.suppress, proposals);
  impl_->run<policy::IdleBuffer>(snapshot, status.idle_buffer, proposals);
  impl_->run<policy::Identity>(snapshot, impl_->identity, proposals);
  impl_->run<policy::BlkIo>(snapshot, status.blkio, proposals);
  impl_->run<policy::SysReconcile>(snapshot, status.system, proposals);
  impl_->run<policy::Resctrl>(snapshot, status.resctrl, proposals);
  impl_->run<policy::CpuBurst>(snapshot, status.burst, proposals);
  impl_->run<policy::MemoryQos>(snapshot, status.memory_qos, proposals);
  impl_->run<policy::MemorySoften>(snapshot, status.memory_soften, proposals);
  if (status.pressure.level != before) ++status.level_changes;

  status.starvation = policy::starvation(snapshot, status.effective, std::move(status.starvation));
  policy::raise_to_floor(proposals, snapshot, status.effective, status.starvation);
  policy::drop_hands_off(proposals, *snapshot.state, status.effective.hands_off_namespaces);
  status.spec = policy::SpecValues::decide(snapshot, status.effective, std::move(status.spec));
  const CgroupPath be_root = snapshot.be_root ? snapshot.be_root->path : CgroupPath{};
  impl_->table = policy::arbitrate(proposals,
                                   status.spec.list->by_key,
                                   std::move(impl_->table),
                                   snapshot.cgroup_version,
                                   be_root,
                                   snapshot.now);
  ++status.ticks;
  return impl_->table;
}

QosManager::Evictions QosManager::evict(const Snapshot& snapshot, const policy::EvictInput& input) {
  Status& status = impl_->status;
  auto with_softening = input;
  with_softening.softening = policy::softening_holds(status.memory_soften, snapshot.now);
  auto answer =
      policy::Evict::decide(snapshot, status.effective, with_softening, std::move(status.evict));
  status.evict = std::move(answer.state);
  return {std::move(answer.wishes), answer.want_fresh_pods};
}

std::vector<QosManager::Standing> QosManager::standing(const Snapshot& snapshot,
                                                       const Pod& pod) const {
  const Status& status = impl_->status;
  std::vector<Standing> out;
  for (const auto plugin : policy::kAllEvictPlugins) {
    if (!policy::is_enabled(plugin, status.effective)) continue;
    out.push_back(
        {plugin,
         policy::why_no_victim(pod, snapshot, status.effective, status.evict.ledger, plugin)});
  }
  return out;
}

void QosManager::note_duration(std::chrono::microseconds took) { impl_->status.last_step = took; }

bool QosManager::near_threshold(const NodeSignals& signals, MilliCpu capacity) const {
  const auto& effective = impl_->status.effective;
  if (effective.off || capacity.v <= 0) return false;
  if (policy::idle_buffer_on(effective)) return true;
  const bool be_runs = signals.be_outside_used.v > 0 || (signals.be_used && signals.be_used->v > 0);
  const auto near = [&](int percent, bool and_above) {
    if (!policy::at_least_percent(signals.node_used, percent - kNearPoints, capacity)) return false;
    const policy::Wide beyond =
        policy::Wide{signals.node_used.v} * 100 - policy::Wide{capacity.v} * percent;
    return beyond <= policy::Wide{capacity.v} * kNearPoints || (and_above && be_runs);
  };
  const auto& pressure = effective.pressure;
  if (pressure.enable && (near(pressure.mid_percent, false) || near(pressure.high_percent, true))) {
    return true;
  }
  return effective.suppress.enable && near(effective.suppress.threshold_percent, true);
}

const DesiredTable& QosManager::desired() const { return impl_->table; }
const QosManager::Status& QosManager::status() const { return impl_->status; }

}  // namespace koordlet
