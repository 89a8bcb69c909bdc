#include <algorithm>
#include <utility>

#include "modules/runtime_hooks/runtime_hooks.hpp"
#include "policy/be_view.hpp"

/// The half of RuntimeHooks that looks after containers that run already.
namespace koordlet {
namespace {

constexpr std::size_t kLooksAPush = 100;  // about a millisecond of the loop
constexpr std::size_t kLooksAStep = 50;

/// What running containers' values follow from, beside themselves.
bool same_basis(const policy::HookWorld& a, const policy::HookWorld& b) {
  return a.ratio == b.ratio && a.pools == b.pools && a.cgroup_version == b.cgroup_version &&
         be_root_limited(a.config) == be_root_limited(b.config) &&
         a.config.hands_off_namespaces == b.config.hands_off_namespaces;
}

bool lives(const HookContainer& c) { return c.state != HookContainer::State::kStopped; }

/// What of `told` nobody wants any more, as the kubelet asked for it. CPU sets stay: no runtime can
/// be told "none" (the kubelet's own list goes back where there is one).
HookResources given_back(const HookResources& told,
                         const HookResources& want,
                         const HookResources& given) {
  HookResources out;
  if (told.cpu_quota && !want.cpu_quota) {
    out.cpu_quota = given.cpu_quota.value_or(policy::QuotaUs::unlimited());
    out.cpu_period = given.cpu_period.value_or(policy::kQuotaPeriod);
  }
  if (told.memory_limit && !want.memory_limit)
    out.memory_limit = given.memory_limit.value_or(Limit<Bytes>::unlimited());
  if (told.cpu_shares && !want.cpu_shares) out.cpu_shares = given.cpu_shares;
  if (told.cpus && !want.cpus) out.cpus = given.cpus;
  return out;
}

}  // namespace

void RuntimeHooks::begin_synchronize(HookInventory inventory) {
  auto known = std::exchange(running_, {});
  known.merge(before_);  // of one that was cut off
  before_ = std::move(known);
  pods_.clear();
  capped_.clear();
  for (auto& pod : inventory.pods) {
    auto& known = pods_[pod.id];
    known = std::make_shared<const HookPod>(std::move(pod));
  }
  sync_ = std::move(inventory.containers);
  sync_at_ = 0;
}

Result<bool> RuntimeHooks::synchronize_some(std::vector<HookUpdate>& out) {
  const Timer timer{clock_, status_.longest_answer};
  const auto end = std::min(sync_.size(), sync_at_ + kLooksAStep);
  for (; sync_at_ < end; ++sync_at_) synchronize_one(sync_[sync_at_], out);
  if (sync_at_ < sync_.size()) return true;
  sync_.clear();
  before_.clear();
  return false;
}

void RuntimeHooks::synchronize_one(const HookContainer& container, std::vector<HookUpdate>& out) {
  const auto pod = pods_.find(container.pod_id);
  if (pod == pods_.end() || !lives(container) || container.id.empty()) return;
  Running running;
  running.pod = pod->second;
  running.given = container;
  running.given.env.clear();
  running.have = container.resources;
  // Its first wish is still known when only the connection was lost.
  if (const auto old = before_.find(container.id); old != before_.end()) {
    running.given = old->second.given;
    running.as_specified = old->second.as_specified;
    running.told = old->second.told;
  }
  if (active_) {
    auto decided = plan(*running.pod, running.given, Moment::kFollow, running.as_specified);
    auto want = std::move(decided.adjustment.resources);
    if (!decided.hands_off) {
      HookUpdate update;
      update.container_id = container.id;
      update.resources = policy::differing(want, running.have);
      running.have = merged(running.have, update.resources);
      running.told = std::move(want);
      note_capped(container.id, decided.capped);
      if (!policy::is_empty(update.resources)) {
        out.push_back(std::move(update));
        ++status_.repaired;
      }
    }
    running.seen = generation_;
  }
  running_.insert_or_assign(container.id, std::move(running));
}

/// False: the runtime cannot be told now.
bool RuntimeHooks::follow(const std::string& id, Running& running) {
  auto decided = plan(*running.pod, running.given, Moment::kFollow, running.as_specified);
  const auto& want = decided.adjustment.resources;
  // Of a hook that failed nothing is known: what it said before keeps standing.
  const auto back =
      decided.failure ? HookResources{} : given_back(running.told, want, running.given.resources);
  HookUpdate update;
  update.container_id = id;
  update.resources = policy::differing(merged(back, want), running.have);
  if (!policy::is_empty(update.resources)) {
    const auto have = merged(running.have, update.resources);
    if (!deps_.queue || !deps_.queue(std::move(update))) return false;
    running.have = have;
    ++status_.followed;
  }
  running.told = decided.failure ? merged(running.told, want) : want;
  running.seen = generation_;
  note_capped(id, decided.capped);
  return true;
}

void RuntimeHooks::follow_all() {
  for (auto at = capped_.begin(); at != capped_.end();) {
    const auto id = at++;  // it may leave the set
    const auto running = running_.find(*id);
    if (running == running_.end()) {
      capped_.erase(id);
      continue;
    }
    if (!follow(running->first, running->second)) return;
  }
  std::size_t looked = 0;
  auto at = running_.lower_bound(next_);
  for (std::size_t n = running_.size(); n > 0 && looked < kLooksAPush; --n, ++at) {
    if (at == running_.end()) at = running_.begin();
    if (at->second.seen == generation_) continue;
    ++looked;
    if (!follow(at->first, at->second)) break;
  }
  next_ = at == running_.end() ? std::string{} : at->first;
}

void RuntimeHooks::push(std::shared_ptr<const NodeState> state,
                        policy::HookWorld world,
                        bool active) {
  const bool other = state->version != state_->version || !same_basis(world, world_);
  if (other || active != active_) ++generation_;
  state_ = std::move(state);
  world_ = std::move(world);
  active_ = active;
  if (active_ && config_.follow) follow_all();
}

}  // namespace koordlet
