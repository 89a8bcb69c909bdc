#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "base/clock.hpp"
#include "kernel/cgroup_fs.hpp"
#include "model/resctrl.hpp"
#include "policy/resctrl.hpp"

namespace koordlet {

/// Control groups of resctrl and the tasks in them, brought to what policy::resctrl_wish() says.
/// Groups that koordlet made go again when nobody wants them; groups that it found stay, and lose
/// only the tasks that koordlet put there. One call at a time, on the loop.
class ResctrlGroups {
 public:
  ResctrlGroups(kernel::HostRoots roots, kernel::Cgroups& cgroups, bool amd, std::string boot_id);

  /// Once per step: what the machine offers is read (each minute again while there is nothing),
  /// groups are made or removed, and tasks moved until none is left to move, at most 4 rounds, in
  /// slices of 2 ms.
  boost::asio::awaitable<void> reconcile(policy::ResctrlWish wish, bool mount, MonoTime now);
  /// Shutdown: own groups go, which sends their tasks to the root group; no wait.
  void remove_all();

  /// nullptr: no resctrl here, or nothing was wished yet.
  std::shared_ptr<const ResctrlState> state() const { return state_; }
  const std::vector<std::string>& faults() const { return faults_; }
  std::uint64_t moved() const { return moved_; }  ///< tasks, since start

  /// The groups that koordlet made, for the state store; a restart goes on from it. A text of
  /// another boot, or a damaged one, says nothing.
  std::string text() const;
  void load(std::string_view text);
  bool changed() { return std::exchange(changed_, false); }  ///< text() is another than last time

 private:
  void look(bool mount, MonoTime now);
  void refresh_state();
  void make_groups(const policy::ResctrlWish& wish);
  void remove_unwanted(const policy::ResctrlWish& wish);
  bool is_own(const std::string& group) const;
  boost::asio::awaitable<std::size_t> move_round(const policy::ResctrlWish& wish);
  std::size_t move(const std::string& from, const std::string& to, const std::vector<int>& tasks);
  void fault(std::string line);

  kernel::HostRoots roots_;
  kernel::Cgroups& cgroups_;
  bool amd_;
  std::string boot_id_;
  std::optional<MonoTime> looked_at_;
  std::shared_ptr<const ResctrlState> state_;
  std::map<std::string, std::uint64_t> own_;   ///< group -> inode
  std::map<std::string, std::set<int>> lent_;  ///< found group -> tasks that koordlet put there
  std::vector<std::string> faults_;
  std::uint64_t moved_ = 0;
  bool changed_ = false;
};

}  // namespace koordlet
