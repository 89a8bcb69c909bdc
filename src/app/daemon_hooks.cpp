#include <fmt/format.h>

#include "app/daemon_impl.hpp"
#include "app/kubelet_cpus_file.hpp"
#include "base/log.hpp"
#include "modules/node_reporter/topology_build.hpp"
#include "modules/runtime_hooks/runtime_hooks.hpp"
#include "runtime/nri_connection.hpp"

namespace koordlet::app {
namespace {

using runtime::NriStatus;

/// Pools as the node's topology object reports them.
std::optional<NodeCpuPools> pools_of(const CpuTopology& cpus,
                                     const NodeState& state,
                                     const KubeletCpus& kubelet) {
  if (cpus.empty() || !state.node) return std::nullopt;
  TopologyInput input;
  input.cpus = cpus;
  input.node = state.node;
  input.node_annotations = state.node->annotations;
  input.pods = state.pods;
  input.kubelet_cpus = kubelet.exclusive;
  const auto pools = cpu_pools(input);
  NodeCpuPools out;
  for (const auto& p : pools.ls) out.shared.push_back({p.numa, p.cpus});
  for (const auto& p : pools.be) out.be.push_back({p.numa, p.cpus});
  out.system = state.node->system_cpus;
  out.kubelet =
      kubelet.policy == KubeletCpuPolicy::kUnknown ? state.node->cpu_policy : kubelet.policy;
  return out;
}

HookDevice hook_device(const kernel::DeviceNode& node) {
  HookDevice out;
  out.path = node.path;
  out.major = node.major;
  out.minor = node.minor;
  return out;
}

}  // namespace

Result<void> Daemon::open_hooks() {
  if (!config_.hooks.nri) return {};
  RuntimeHooks::Deps deps;
  // Posted: an answer to the runtime comes first.
  deps.on_start = [this](const std::string&) { wake({.change = true}); };
  deps.queue = [this](HookUpdate update) { return nri_->queue(std::move(update)); };
  RuntimeHooks::Config config;
  config.switches = config_.qos.policy.hooks;
  config.failure_policy = config_.hooks.connection.plugin.policy;
  config.follow = !config.switches.reconcile;
  hooks_ = std::make_unique<RuntimeHooks>(config, std::move(deps), clock_);
  auto options = config_.hooks.connection;
  options.seed = std::hash<std::string>{}(node_name_of(config_) + boot_id_);
  auto nri = runtime::NriConnection::make(io_.get_executor(), options, *hooks_, clock_);
  if (!nri) return wrap("hooks", nri.error());
  nri_ = std::move(*nri);
  return {};
}

/// The first time, before the runtime is called at all: its first answer knows the world.
void Daemon::push_hooks(const Snapshot& snapshot) {
  if (!hooks_) return;
  const auto& status = qos_->status();
  policy::HookWorld world;
  world.cgroup_version = version_;
  world.config = status.effective;
  if (snapshot.state->node) {
    world.ratio = policy::normalization_ratio(*snapshot.state->node);
    world.memory_allocatable = snapshot.state->node->memory_allocatable;
    if (snapshot.state->node->memory_capacity.v > 0)
      world.memory_total = snapshot.state->node->memory_capacity;
  }
  if (snapshot.signals && snapshot.signals->memory_total)
    world.memory_total = snapshot.signals->memory_total;
  if (snapshot.cpu_pools) world.pools = *snapshot.cpu_pools;
  if (snapshot.be_root) world.be_cpus = snapshot.be_root->cpuset;
  world.has_memory_files = snapshot.has_memory_min;
  world.memory_min_wanted = status.memory_qos.summary.min_wanted;
  if (status.pressure.decided) world.factor_permille = status.pressure.factor_permille;
  world.desired = &qos_->desired();
  if (const auto groups = resctrl_->state()) world.resctrl_groups = groups->groups;
  if (config_.qos.policy.hooks.rdma) add_verbs(snapshot.now, world);
  const bool active = !paused_ && !stopping_ && !config_.executor.dry_run && status.ready;
  hooks_->push(snapshot.state, std::move(world), active);
  if (!hooks_spawned_) {
    hooks_spawned_ = true;
    tasks_.spawn("nri", nri_->run());
  }
  log_hooks();
}

/// Reckoned anew when the pods or kubelet's file are others.
void Daemon::update_cpu_pools(const Snapshot& snapshot) {
  constexpr std::chrono::seconds kAge{10};  // as often as kubelet itself reconciles
  const bool same = cpu_pools_at_ && snapshot.now - *cpu_pools_at_ < kAge &&
                    cpu_pools_version_ == snapshot.state->version;
  if (same) return;
  const auto kubelet = read_kubelet_cpus(config_.kubelet.cpu_manager_state);
  const auto pools = pools_of(topology_, *snapshot.state, kubelet);
  const bool stays = pools ? cpu_pools_ && *cpu_pools_ == *pools : cpu_pools_ == nullptr;
  if (!stays) cpu_pools_ = pools ? std::make_shared<const NodeCpuPools>(*pools) : nullptr;
  cpu_pools_at_ = snapshot.now;
  cpu_pools_version_ = snapshot.state->version;
}

/// Functions come and go with the drivers' settings, seldom.
void Daemon::add_verbs(MonoTime now, policy::HookWorld& world) {
  constexpr std::chrono::minutes kAge{1};
  if (!verbs_at_ || now - *verbs_at_ >= kAge) {
    verbs_ = kernel::read_verbs_devices(config_.host);
    verbs_at_ = now;
  }
  if (verbs_.connection_manager) world.rdma_cm = hook_device(*verbs_.connection_manager);
  for (const auto& [id, node] : verbs_.by_pci) world.rdma.emplace(id, hook_device(node));
}

void Daemon::log_hooks() {
  const auto s = nri_->status();
  const std::string now = s.state == NriStatus::State::kReady
                              ? fmt::format("{} {} asks for values of containers",
                                            s.runtime.runtime_name,
                                            s.runtime.runtime_version)
                              : s.why;
  if (now == hooks_logged_ || now.empty()) return;
  hooks_logged_ = now;
  if (s.state == NriStatus::State::kReady) return log::info("nri", now);
  const bool kept = config_.qos.policy.hooks.reconcile;
  log::warn("nri",
            fmt::format("{}: containers start without values meanwhile, {}",
                        now,
                        kept ? "the next ticks put cgroup files right; devices, environment and "
                               "oom_score_adj stay as they are"
                             : "and batch resources, CPU sets and normalized quotas stay as they "
                               "are: hooks.reconcile is off"));
}

void Daemon::add_hooks(StatusView& v) const {
  if (!hooks_) return;
  const auto nri = nri_->status();
  const auto s = hooks_->status();
  StatusView::Hooks out;
  out.state = runtime::to_string(nri.state);
  out.why = nri.why;
  out.socket = config_.hooks.connection.socket;
  out.runtime = nri.runtime.runtime_name;
  out.runtime_version = nri.runtime.runtime_version;
  out.connections = nri.connections;
  out.events = nri.events.requests;
  out.failures = nri.events.failures;
  out.late = nri.events.late;
  out.last_failure = nri.events.last_failure;
  out.created = s.created;
  out.updated = s.updated;
  out.unknown_pods = s.unknown_pods;
  out.hands_off = s.hands_off;
  out.repaired = s.repaired;
  out.followed = s.followed;
  out.capped_starts = s.capped_starts;
  out.containers = s.containers;
  out.longest_answer = s.longest_answer;
  for (const auto hook : policy::kAllHooks) {
    const auto& c = s.hooks.at(static_cast<std::size_t>(hook));
    out.failures +=
        config_.hooks.connection.plugin.policy == HookFailurePolicy::kIgnore ? c.failed : 0;
    out.hooks.push_back({policy::to_string(hook),
                         policy::is_on(hook, config_.qos.policy.hooks),
                         c.calls,
                         c.changed,
                         c.failed,
                         c.longest,
                         c.last_failure});
  }
  v.gauge("nri_connected",
          nri.state == NriStatus::State::kReady ? 1 : 0,
          "1 while the runtime asks for values of containers.");
  v.gauge("nri_longest_answer_seconds",
          std::chrono::duration<double>(s.longest_answer).count(),
          "Longest answer to the runtime since start.");
  v.counter("nri_events_total", out.events, "Requests of the runtime.");
  v.counter("nri_failures_total", out.failures, "Hooks that failed.");
  v.counter("nri_repaired_total", s.repaired, "Containers put right after a connection.");
  v.hooks = std::move(out);
}

}  // namespace koordlet::app
