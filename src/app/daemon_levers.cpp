#include <fmt/format.h>

#include "app/daemon_impl.hpp"
#include "app/kubelet_cpus_file.hpp"
#include "base/log.hpp"
#include "model/pod_change.hpp"
#include "modules/qos_manager/storage_table.hpp"
#include "modules/qos_manager/weight_rules.hpp"
#include "store/checkpoint.hpp"

namespace koordlet::app {
namespace {

namespace asio = boost::asio;

constexpr auto kStorageTableAge = std::chrono::seconds{10};
constexpr auto kKubeletCpusAge = std::chrono::seconds{10};  // as often as kubelet itself reconciles

/// Whether a rule bounds BE by cpuset.
bool uses_cpusets(const policy::EffectiveConfig& c) {
  const bool suppress = c.suppress.enable && c.suppress.policy == SuppressPolicy::kCpuset;
  return !c.off && (suppress || policy::idle_buffer_on(c));
}
constexpr const char* kCheckpoint = "resctrl-groups";

}  // namespace

void Daemon::open_levers() {
  const auto model = kernel::read_cpu_model(config_.host);
  const bool amd = model && model->vendor == "AuthenticAMD";
  resctrl_ = std::make_unique<ResctrlGroups>(config_.host, *cgroups_, amd, boot_id_);
  cookies_ = std::make_unique<CoreCookies>(config_.host, *cgroups_);
}

asio::awaitable<void> Daemon::load_levers() {
  auto* env = &*state_env_;
  auto text = co_await storage_->run([env] { return store::Checkpoints{*env}.get(kCheckpoint); });
  if (text && *text) resctrl_->load(**text);
  if (!text) {
    log::warn("resctrl",
              fmt::format("{}: groups of an earlier run stay, ignoring", text.error().context));
  }
}

/// Groups, tasks and cookies follow the last step, after its files: a group goes when its schemata
/// are back. A dry run touches nothing here either.
asio::awaitable<void> Daemon::lever_loop() {
  reactor::TimerFd timer{io_.get_executor(), std::chrono::seconds{1}};
  for (;;) {
    const auto ec = co_await timer.wait();
    if (ec) co_return;
    if (paused_ || stopping_ || !qos_->status().ready || config_.executor.dry_run) continue;
    const auto state = states_->state();
    const auto& effective = qos_->status().effective;
    const bool mount = effective.resctrl.mount;
    auto wish = policy::resctrl_wish(*state, effective.resctrl, effective.hands_off_namespaces);
    auto be_pods = policy::core_sched_wish(*state, effective);
    co_await resctrl_->reconcile(std::move(wish), mount, clock_.now());
    if (resctrl_->changed()) {
      storage_->post([env = &*state_env_, text = resctrl_->text()] {
        const auto saved = store::Checkpoints{*env}.put(kCheckpoint, text);
        if (!saved) log::warn("resctrl", fmt::format("{}, ignoring", saved.error().context));
      });
    }
    co_await cookies_->reconcile(std::move(be_pods));
  }
}

/// A pod that was resized in place: what kubelet writes for it now is what is given back later.
void Daemon::follow_resizes() {
  auto state = states_->state();
  if (last_state_ && last_state_ != state) {
    executor_->note_resized(resized_pods(*last_state_, *state), clock_.now());
  }
  last_state_ = std::move(state);
}

void Daemon::restore_levers() {
  if (config_.executor.dry_run) return;
  resctrl_->remove_all();
  cookies_->clear_all();
}

/// Once a minute: kubelet and runtime are upgraded while pods run.
void Daemon::update_weight_rules(const Snapshot& snapshot) {
  constexpr std::chrono::minutes kAge{1};
  if (weight_rules_at_ && snapshot.now - *weight_rules_at_ < kAge) return;
  weight_rules_ = seen_weight_rules(*snapshot.state, *cgroups_, weight_rules_);
  weight_rules_at_ = snapshot.now;
}

/// By the configuration of the last step: what nobody asks for is not read.
void Daemon::add_levers(Snapshot& s) {
  const auto& effective = qos_->status().effective;
  const auto& hooks = config_.qos.policy.hooks;
  if (hooks_ || (hooks.reconcile && hooks.cpuset)) {
    update_cpu_pools(s);
    s.cpu_pools = cpu_pools_;
  }
  if (hooks.reconcile && hooks.batch_resources && version_ == CgroupVersion::kV2) {
    update_weight_rules(s);
    s.weight_rules = weight_rules_;
  }
  if (uses_cpusets(effective)) {
    if (!kubelet_cpus_ || s.now - kubelet_cpus_at_ >= kKubeletCpusAge) {
      kubelet_cpus_ =
          std::make_shared<const KubeletCpus>(read_kubelet_cpus(config_.kubelet.cpu_manager_state));
      kubelet_cpus_at_ = s.now;
    }
    s.kubelet_cpus = kubelet_cpus_;
  } else {
    kubelet_cpus_.reset();
  }
  if (effective.resctrl.any()) s.resctrl = resctrl_->state();
  if (effective.blkio.any() && advisor_->storage()) {
    if (!storage_table_ || s.now - storage_table_at_ >= kStorageTableAge) {
      storage_table_ = std::make_shared<const StorageTable>(storage_table(*advisor_->storage()));
      storage_table_at_ = s.now;
    }
    s.storage = storage_table_;
  }
}

void Daemon::log_levers() {
  const auto& status = qos_->status();
  std::vector<std::string> faults;
  for (const auto* list : {&status.blkio.faults,
                           &status.system.faults,
                           &status.resctrl.faults,
                           &resctrl_->faults(),
                           &cookies_->faults()}) {
    faults.insert(faults.end(), list->begin(), list->end());
  }
  if (kubelet_cpus_ && !kubelet_cpus_->fault.empty()) faults.push_back(kubelet_cpus_->fault);
  log_faults("qos", faults, lever_faults_);
}

void Daemon::add_levers(StatusView::Qos& q) const {
  const auto& s = qos_->status();
  const auto& hooks = s.effective.hooks;
  const auto pods = s.spec.list ? s.spec.list->pods : 0;
  q.levers.push_back({"spec_values",
                      hooks.reconcile,
                      s.spec.list ? s.spec.list->all.size() : 0,
                      fmt::format("files of {} pods by batch resources, CPU sets, CPU ratio", pods),
                      {}});
  q.levers.push_back({"blkio", s.effective.blkio.any(), s.blkio.settings, "", s.blkio.faults});
  q.levers.push_back(
      {"system", s.effective.system != SystemStrategy{}, s.system.settings, "", s.system.faults});
  StatusView::Lever resctrl{
      "resctrl", s.effective.resctrl.any(), s.resctrl.settings, "", s.resctrl.faults};
  const auto& groups = resctrl_->faults();
  resctrl.faults.insert(resctrl.faults.end(), groups.begin(), groups.end());
  if (const auto machine = resctrl_->state()) {
    resctrl.detail = fmt::format("{} cache and {} memory domains, ways {:x}{}, {} tasks moved",
                                 machine->l3_ids.size(),
                                 machine->mb_ids.size(),
                                 machine->cbm_mask,
                                 machine->cdp ? ", code and data apart" : "",
                                 resctrl_->moved());
  }
  q.levers.push_back(std::move(resctrl));
  StatusView::Lever kubelet{"kubelet_cpus", kubelet_cpus_ != nullptr, 0, "", {}};
  if (kubelet_cpus_) {
    CpuSet given;
    for (const auto& [uid, cpus] : kubelet_cpus_->exclusive) given = given | cpus;
    kubelet.settings = kubelet_cpus_->exclusive.size();
    if (!given.empty()) kubelet.detail = fmt::format("given to pods: {}", given.to_string());
    if (!kubelet_cpus_->fault.empty()) kubelet.faults.push_back(kubelet_cpus_->fault);
  }
  q.levers.push_back(std::move(kubelet));
  const auto& identity = s.effective.identity;
  q.levers.push_back({"core_sched",
                      identity.enable && identity.core_sched,
                      cookies_->tasks(),
                      "tasks with the cookie of BE",
                      cookies_->faults()});
}

}  // namespace koordlet::app
