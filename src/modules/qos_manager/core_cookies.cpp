#include "modules/qos_manager/core_cookies.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "kernel/core_sched.hpp"
#include "modules/qos_manager/task_walk.hpp"

namespace koordlet {

void CoreCookies::fault(std::string line) { faults_.push_back(std::move(line)); }

boost::asio::awaitable<CoreCookies::Seen> CoreCookies::look(const std::vector<CgroupPath>& pods) {
  WorkSlice slice;
  std::map<std::uint64_t, std::vector<int>> by_cookie;
  std::map<std::uint64_t, int> pods_of;
  for (const auto& pod : pods) {
    const std::vector<CgroupPath> one{pod};
    const auto tasks = co_await tasks_below(cgroups_, roots_, one, slice);
    std::map<std::uint64_t, int> here;
    for (const int task : tasks) {
      const auto cookie = kernel::core_cookie(task);
      if (!cookie) continue;  // ended meanwhile
      by_cookie[*cookie].push_back(task);
      here[*cookie] = 1;
    }
    for (const auto& [cookie, n] : here) pods_of[cookie] += n;
    co_await slice.pause();
  }
  if (cookie_ == 0 || !by_cookie.contains(cookie_)) {
    cookie_ = 0;
    for (const auto& [cookie, count] : pods_of) {
      if (cookie != 0 && count >= 2) cookie_ = cookie;
    }
  }
  Seen out;
  out.without = std::move(by_cookie[0]);
  if (cookie_ != 0) out.with = std::move(by_cookie[cookie_]);
  co_return out;
}

boost::asio::awaitable<void> CoreCookies::reconcile(std::vector<CgroupPath> pods) {
  faults_.clear();
  if (pods.empty()) {
    clear_all();
    co_return;
  }
  if (const auto able = kernel::probe_core_sched(); !able) {
    fault(able.error().context);
    co_return;
  }
  auto seen = co_await look(pods);
  if (seen.with.empty() && !seen.without.empty()) {
    const int first = seen.without.back();
    const auto made = kernel::make_core_cookie(first);
    if (!made) {
      if (made.error().code != Errc::kNotFound) fault(made.error().context);
      co_return;
    }
    cookie_ = *made;
    seen.with.push_back(first);
    seen.without.pop_back();
  }
  if (!seen.without.empty()) {
    const auto shared = kernel::share_core_cookie(seen.with.front(), seen.without);
    if (!shared) {
      if (shared.error().code != Errc::kNotFound) fault(shared.error().context);
    } else if (shared->refused > 0) {
      fault(shared->error);
    }
    seen.with.insert(seen.with.end(), seen.without.begin(), seen.without.end());
  }
  // Tasks of a pod that is BE no longer lose it; ids of ended tasks are not asked about.
  std::sort(seen.with.begin(), seen.with.end());
  std::vector<int> left;
  for (const int task : given_) {
    if (std::binary_search(seen.with.begin(), seen.with.end(), task)) continue;
    const auto cookie = kernel::core_cookie(task);
    if (cookie && *cookie == cookie_) left.push_back(task);
  }
  if (!left.empty()) {
    const auto cleared = kernel::clear_core_cookie(left);
    if (!cleared) fault(cleared.error().context);
  }
  given_ = std::move(seen.with);
}

void CoreCookies::clear_all() {
  std::vector<int> ours;
  for (const int task : given_) {
    const auto cookie = kernel::core_cookie(task);
    if (cookie && *cookie != 0 && *cookie == cookie_) ours.push_back(task);
  }
  if (!ours.empty()) {
    const auto cleared = kernel::clear_core_cookie(ours);
    if (!cleared) fault(cleared.error().context);
  }
  given_.clear();
  cookie_ = 0;
}

}  // namespace koordlet
