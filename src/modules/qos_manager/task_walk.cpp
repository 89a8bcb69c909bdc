#include "modules/qos_manager/task_walk.hpp"

#include <algorithm>

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "kernel/resctrl_control.hpp"

namespace koordlet {
namespace {

constexpr auto kSlice = std::chrono::milliseconds{2};
constexpr int kDeepest = 16;  // cgroups in containers; deeper ones are somebody's mistake

}  // namespace

boost::asio::awaitable<void> WorkSlice::pause() {
  if (std::chrono::steady_clock::now() - start_ < kSlice) co_return;
  co_await boost::asio::post(boost::asio::use_awaitable);
  start_ = std::chrono::steady_clock::now();
}

boost::asio::awaitable<std::vector<int>> tasks_below(kernel::Cgroups& cgroups,
                                                     const kernel::HostRoots& roots,
                                                     const std::vector<CgroupPath>& paths,
                                                     WorkSlice& slice) {
  std::vector<int> out;
  std::vector<CgroupPath> todo{paths};
  while (!todo.empty()) {
    const auto path = todo.back();
    todo.pop_back();
    const auto tasks = kernel::read_cgroup_tasks(roots, cgroups.version(), path);
    if (tasks) out.insert(out.end(), tasks->begin(), tasks->end());
    if (path.depth() < kDeepest) {
      if (const auto children = cgroups.children(path)) {
        for (const auto& name : *children) todo.push_back(path.child(name));
      }
    }
    co_await slice.pause();
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  co_return out;
}

}  // namespace koordlet
