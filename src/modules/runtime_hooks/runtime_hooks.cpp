#include "modules/runtime_hooks/runtime_hooks.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "policy/be_view.hpp"
#include "policy/hands_off.hpp"

namespace koordlet {

using policy::QuotaUs;
using runtime_hooks::HookCase;
using runtime_hooks::make_case;

namespace {

/// More containers than a node runs: beyond them values are given at the start, and not followed.
constexpr std::size_t kMostRunning = 20'000;

/// Hooks that keep their value at a container that runs: others' files are written by the tick, or
/// can be set at the start only.
bool follows(policy::Hook hook) {
  using policy::Hook;
  return hook == Hook::kBatchResources || hook == Hook::kCpuNormalization || hook == Hook::kCpuset;
}

/// Hooks whose values a kubelet's update would take away.
bool answers_update(policy::Hook hook) {
  return follows(hook) || hook == policy::Hook::kMemoryQos || hook == policy::Hook::kCpuIdle;
}

}  // namespace

RuntimeHooks::RuntimeHooks(Config config, Deps deps, const Clock& clock)
    : config_{config},
      deps_{std::move(deps)},
      clock_{clock},
      state_{std::make_shared<const NodeState>()} {}

RuntimeHooks::Status RuntimeHooks::status() const {
  Status out = status_;
  out.containers = running_.size();
  return out;
}

std::optional<HookAdjustment> RuntimeHooks::ask(Hook hook,
                                                const HookCase& c,
                                                const HookContainer& container,
                                                Plan& plan) {
  auto& counters = status_.hooks.at(static_cast<std::size_t>(hook));
  ++counters.calls;
  const Timer timer{clock_, counters.longest};
  Result<HookAdjustment> said;
  try {
    said = deps_.values(hook, c.subject(container), world_, config_.switches);
  } catch (const std::exception& e) {
    said = Error{Errc::kInvalid, fmt::format("threw: {}", e.what())};
  }
  if (said) {
    if (policy::is_empty(*said)) return std::nullopt;
    ++counters.changed;
    return std::move(*said);
  }
  ++counters.failed;
  counters.last_failure = fmt::format("{}/{} container {}: {}: {}",
                                      c.pod().ns,
                                      c.pod().name,
                                      container.name,
                                      policy::to_string(hook),
                                      said.error().context);
  if (!plan.failure) plan.failure = Error{said.error().code, counters.last_failure};
  return std::nullopt;
}

/// A running container whose pod's own file has the cap needs none of its own.
void RuntimeHooks::cap(const HookCase& c, const HookContainer& given, Moment moment, Plan& out) {
  if (moment != Moment::kCreate && policy::held_cap(c.pod(), world_)) return;
  const auto most = policy::start_cap(c.pod(), world_);
  if (!most) return;
  auto& resources = out.adjustment.resources;
  const auto own = resources.cpu_quota ? *resources.cpu_quota
                                       : given.resources.cpu_quota.value_or(QuotaUs::unlimited());
  const auto period = resources.cpu_quota
                          ? policy::kQuotaPeriod
                          : given.resources.cpu_period.value_or(policy::kQuotaPeriod);
  if (own.bound()) {
    const auto a_period = own.bound()->count() * policy::kQuotaPeriod.count() / period.count();
    if (a_period <= most->bound()->count()) return;
  }
  resources.cpu_quota = *most;
  resources.cpu_period = policy::kQuotaPeriod;
  out.capped = true;
}

RuntimeHooks::Plan RuntimeHooks::plan(const HookPod& pod,
                                      const HookContainer& container,
                                      Moment moment,
                                      bool as_specified) {
  Plan out;
  const HookCase c = make_case(*state_, pod, container, as_specified);
  if (policy::hands_off(c.pod(), world_.config.hands_off_namespaces)) {
    out.hands_off = true;
    return out;
  }
  for (const auto hook : policy::kAllHooks) {
    if (!policy::is_on(hook, config_.switches)) continue;
    if (moment == Moment::kUpdate && !answers_update(hook)) continue;
    if (moment == Moment::kFollow && !follows(hook)) continue;
    if (auto said = ask(hook, c, container, out))
      policy::lay_over(out.adjustment, std::move(*said));
  }
  if (moment != Moment::kCreate) out.adjustment.oom_score_adj.reset();
  cap(c, container, moment, out);
  return out;
}

Result<runtime::NriEvents::Creation> RuntimeHooks::create_container(
    const HookPod& pod, const HookContainer& container) {
  const Timer timer{clock_, status_.longest_answer};
  ++status_.created;
  if (find_pod(*state_, pod.uid) == nullptr) ++status_.unknown_pods;
  Creation out;
  Plan decided;
  if (active_) {
    decided = plan(pod, container, Moment::kCreate, true);
    if (decided.hands_off) ++status_.hands_off;
    if (decided.failure && config_.failure_policy == HookFailurePolicy::kFail)
      return *decided.failure;
    out.adjustment = std::move(decided.adjustment);
  }
  if (running_.size() >= kMostRunning || container.id.empty()) return out;
  Running& running = running_[container.id];
  running = {};
  running.pod = remember(pod);
  running.given = container;
  running.given.env.clear();
  running.as_specified = true;
  running.told = out.adjustment.resources;
  running.have = merged(container.resources, running.told);
  running.seen = active_ ? generation_ : 0;
  if (decided.capped) ++status_.capped_starts;
  note_capped(container.id, decided.capped);
  return out;
}

runtime::NriEvents::Updates RuntimeHooks::update_container(const HookPod& pod,
                                                           const HookContainer& container,
                                                           const HookResources& asked) {
  const Timer timer{clock_, status_.longest_answer};
  ++status_.updated;
  std::vector<HookUpdate> out;
  const auto at = running_.find(container.id);
  HookContainer given = container;
  bool as_specified = false;
  if (at != running_.end()) {
    // A quota that is the one we told is no wish of the kubelet's.
    HookResources wish = asked;
    if (wish.cpu_quota && wish.cpu_quota == at->second.told.cpu_quota) wish.cpu_quota.reset();
    at->second.given.resources = merged(at->second.given.resources, wish);
    at->second.have = merged(at->second.have, asked);
    given = at->second.given;
    as_specified = at->second.as_specified;
  } else {
    given.resources = merged(container.resources, asked);
  }
  if (!active_) return out;
  auto decided = plan(pod, given, Moment::kUpdate, as_specified);
  if (decided.hands_off) ++status_.hands_off;
  if (decided.failure && config_.failure_policy == HookFailurePolicy::kFail)
    return *decided.failure;
  auto& resources = decided.adjustment.resources;
  if (at != running_.end()) {
    at->second.told = resources;
    at->second.have = merged(at->second.have, resources);
    note_capped(container.id, decided.capped);
  }
  if (policy::is_empty(resources)) return out;
  HookUpdate update;
  update.container_id = container.id;
  update.resources = std::move(resources);
  out.push_back(std::move(update));
  return out;
}

runtime::NriEvents::Updates RuntimeHooks::stop_container(const HookPod&,
                                                         const HookContainer& container) {
  forget(container.id);
  return std::vector<HookUpdate>{};
}

Result<void> RuntimeHooks::happened(HookEvent event,
                                    const HookPod& pod,
                                    const HookContainer* container) {
  const auto& switches = config_.switches;
  bool due = false;
  switch (event) {
    case HookEvent::kRunPod:
      ++status_.pods_started;
      due = switches.group_identity;
      break;
    case HookEvent::kPostStartContainer:
      due = switches.core_sched || switches.group_identity;
      break;
    case HookEvent::kRemovePod:
      forget_pod(pod.id);
      break;
    case HookEvent::kRemoveContainer:
      if (container != nullptr) forget(container->id);
      break;
    case HookEvent::kStopPod:
    case HookEvent::kPostCreateContainer:
    case HookEvent::kStartContainer:
    case HookEvent::kPostUpdateContainer:
      break;
  }
  if (due && active_ && deps_.on_start) deps_.on_start(pod.uid);
  return {};
}

std::shared_ptr<const HookPod> RuntimeHooks::remember(const HookPod& pod) {
  auto& known = pods_[pod.id];
  if (!known || !(*known == pod)) known = std::make_shared<const HookPod>(pod);
  return known;
}

void RuntimeHooks::note_capped(const std::string& id, bool capped) {
  if (capped) {
    capped_.insert(id);
  } else {
    capped_.erase(id);
  }
}

void RuntimeHooks::forget(const std::string& id) {
  running_.erase(id);
  capped_.erase(id);
}

void RuntimeHooks::forget_pod(const std::string& pod_id) {
  pods_.erase(pod_id);
  std::erase_if(running_, [&](const auto& item) {
    const bool gone = item.second.given.pod_id == pod_id;
    if (gone) capped_.erase(item.first);
    return gone;
  });
}

}  // namespace koordlet
