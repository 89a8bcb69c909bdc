#include "modules/qos_manager/resctrl_groups.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/parse.hpp"
#include "kernel/resctrl_control.hpp"
#include "modules/qos_manager/task_walk.hpp"

namespace koordlet {
namespace {

constexpr auto kLookAgain = std::chrono::minutes{1};
constexpr int kMostRounds = 4;  // a fork inherits its parent's group: two are enough but for races

std::vector<int> without(const std::vector<int>& a, const std::vector<int>& b) {
  std::vector<int> out;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  return out;
}

}  // namespace

ResctrlGroups::ResctrlGroups(kernel::HostRoots roots,
                             kernel::Cgroups& cgroups,
                             bool amd,
                             std::string boot_id)
    : roots_{std::move(roots)}, cgroups_{cgroups}, amd_{amd}, boot_id_{std::move(boot_id)} {}

void ResctrlGroups::fault(std::string line) {
  if (std::find(faults_.begin(), faults_.end(), line) == faults_.end()) {
    faults_.push_back(std::move(line));
  }
}

void ResctrlGroups::look(bool mount, MonoTime now) {
  if (state_ || (looked_at_ && now - *looked_at_ < kLookAgain)) return;
  looked_at_ = now;
  faults_.clear();
  auto offer = kernel::read_resctrl_offer(roots_);
  if (!offer && mount) {
    if (const auto done = kernel::mount_resctrl(roots_); !done) fault(done.error().context);
    offer = kernel::read_resctrl_offer(roots_);
  }
  if (!offer) {
    fault(fmt::format("resctrl: {}", offer.error().context));
    return;
  }
  ResctrlState state;
  state.l3_ids = std::move(offer->l3_ids);
  state.mb_ids = std::move(offer->mb_ids);
  state.cdp = offer->cdp;
  state.cbm_mask = offer->cbm_mask;
  state.min_cbm_bits = offer->min_cbm_bits;
  state.bandwidth_gran = offer->bandwidth_gran;
  state.min_bandwidth = offer->min_bandwidth;
  state.amd = amd_;
  state.megabytes = offer->megabytes;
  state.closids = offer->closids;
  state_ = std::make_shared<const ResctrlState>(std::move(state));
}

void ResctrlGroups::refresh_state() {
  const auto groups = kernel::list_resctrl_groups(roots_);
  if (!groups) {  // unmounted meanwhile
    fault(groups.error().context);
    state_ = nullptr;
    return;
  }
  const std::set<std::string> now{groups->begin(), groups->end()};
  if (now == state_->groups) return;
  auto next = std::make_shared<ResctrlState>(*state_);
  next->groups = now;
  state_ = std::move(next);
}

bool ResctrlGroups::is_own(const std::string& group) const {
  const auto own = own_.find(group);
  if (own == own_.end()) return false;
  const auto inode = kernel::resctrl_group_inode(roots_, group);
  return inode && *inode == own->second;
}

void ResctrlGroups::make_groups(const policy::ResctrlWish& wish) {
  for (const auto& [name, paths] : wish.groups) {
    if (state_->groups.contains(name)) continue;
    const auto made = kernel::make_resctrl_group(roots_, name);
    if (!made) {
      fault(fmt::format("group {}: {}", name, made.error().context));
    } else if (made->made) {
      own_[name] = made->inode;
      changed_ = true;
    }
  }
}

void ResctrlGroups::remove_unwanted(const policy::ResctrlWish& wish) {
  for (auto own = own_.begin(); own != own_.end();) {
    if (wish.groups.contains(own->first)) {
      ++own;
      continue;
    }
    if (is_own(own->first)) {
      const auto gone = kernel::remove_resctrl_group(roots_, own->first);
      if (!gone && gone.error().code != Errc::kNotFound) {
        fault(fmt::format("group {}: {}", own->first, gone.error().context));
        ++own;
        continue;
      }
    }
    own = own_.erase(own);
    changed_ = true;
  }
}

std::size_t ResctrlGroups::move(const std::string& from,
                                const std::string& to,
                                const std::vector<int>& tasks) {
  if (tasks.empty()) return 0;
  const auto done = kernel::move_tasks(roots_, to, tasks);
  const auto name = to.empty() ? "the root group" : "group " + to;
  if (!done) {
    fault(fmt::format("{}: {}", name, done.error().context));
    return 0;
  }
  if (done->refused > 0) {
    fault(fmt::format(
        "{}: {} of {} tasks refused: {}", name, done->refused, tasks.size(), done->error));
  }
  if (!to.empty() && !is_own(to)) lent_[to].insert(tasks.begin(), tasks.end());
  if (!from.empty()) {
    for (const int task : tasks) lent_[from].erase(task);
  }
  moved_ += done->moved;
  return done->moved;
}

boost::asio::awaitable<std::size_t> ResctrlGroups::move_round(const policy::ResctrlWish& wish) {
  WorkSlice slice;
  std::size_t moved = 0;
  std::set<std::string> groups;
  for (const auto& [name, paths] : wish.groups) groups.insert(name);
  for (const auto& [name, tasks] : lent_) groups.insert(name);
  for (const auto& name : groups) {
    if (!state_->groups.contains(name)) {
      lent_.erase(name);
      continue;
    }
    // The group first: a task that starts between the two readings is in neither list, while in
    // the other order it would look like a stranger.
    const auto present = kernel::read_resctrl_tasks(roots_, name);
    if (!present) continue;
    const auto members = wish.groups.find(name);
    std::vector<int> wanted;
    if (members != wish.groups.end()) {
      wanted = co_await tasks_below(cgroups_, roots_, members->second, slice);
    }
    moved += move("", name, without(wanted, *present));
    auto strangers = without(*present, wanted);
    if (!is_own(name)) {
      const auto& lent = lent_[name];
      std::erase_if(strangers, [&lent](int task) { return !lent.contains(task); });
    }
    moved += move(name, "", strangers);
    co_await slice.pause();
  }
  co_return moved;
}

boost::asio::awaitable<void> ResctrlGroups::reconcile(policy::ResctrlWish wish,
                                                      bool mount,
                                                      MonoTime now) {
  if (wish.groups.empty() && own_.empty() && lent_.empty()) {
    faults_.clear();
    co_return;
  }
  look(mount, now);
  if (!state_) co_return;
  faults_.clear();
  refresh_state();
  if (!state_) co_return;
  make_groups(wish);
  remove_unwanted(wish);
  refresh_state();
  for (int round = 0; round < kMostRounds && state_; ++round) {
    const auto moved = co_await move_round(wish);
    if (moved == 0) break;
  }
  if (wish.groups.empty()) lent_.clear();
}

void ResctrlGroups::remove_all() {
  for (const auto& [name, tasks] : lent_) move(name, "", {tasks.begin(), tasks.end()});
  lent_.clear();
  if (!own_.empty()) remove_unwanted({});
}

std::string ResctrlGroups::text() const {
  auto out = boot_id_ + "\n";
  for (const auto& [name, inode] : own_) out += fmt::format("{} {}\n", name, inode);
  return out;
}

void ResctrlGroups::load(std::string_view text) {
  const auto boot = next_line(text);
  if (!boot || *boot != boot_id_) return;
  while (auto line = next_line(text)) {
    auto rest = *line;
    const auto name = next_field(rest);
    const auto inode = parse_u64(trim(rest));
    const bool known = name && (*name == kResctrlLsr || *name == kResctrlLs || *name == kResctrlBe);
    if (known && inode) own_.emplace(*name, *inode);
  }
}

}  // namespace koordlet
