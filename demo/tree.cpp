#include "tree.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>

#include "kernel/fd.hpp"

namespace koordlet::demo {
namespace {

namespace fs = std::filesystem;

constexpr const char* kV1Controllers[] = {"cpu", "cpuacct", "cpuset", "memory"};
constexpr const char* kControlFiles[] = {"cpu.shares",
                                         "cpu.cfs_quota_us",
                                         "cpu.cfs_period_us",
                                         "cpu.cfs_burst_us",
                                         "cpu.idle",
                                         "cpu.weight",
                                         "cpu.max",
                                         "cpu.max.burst",
                                         "cpuset.cpus",
                                         "cpuset.mems",
                                         "memory.min",
                                         "memory.low",
                                         "memory.high",
                                         "memory.max",
                                         "memory.limit_in_bytes",
                                         "memory.oom.group"};

}  // namespace

DemoTree::DemoTree(kernel::HostRoots roots, CgroupVersion version, CgroupDriver driver)
    : roots_{std::move(roots)}, version_{version}, layout_{driver} {}

std::vector<std::string> DemoTree::dirs_of(const CgroupPath& path) const {
  if (version_ == CgroupVersion::kV2) return {roots_.cgroup + "/" + path.str()};
  std::vector<std::string> out;
  for (const auto* controller : kV1Controllers) {
    const auto hierarchy = roots_.cgroup + "/" + controller;
    if (fs::exists(hierarchy)) out.push_back(hierarchy + "/" + path.str());
  }
  return out;
}

Result<void> DemoTree::make_dir(const CgroupPath& path) {
  made_.push_back(path);
  for (const auto& dir : dirs_of(path)) {
    if (mkdir(dir.c_str(), 0755) != 0) return errno_error(errno, dir, "mkdir");
    // v1: a cpuset starts empty, and an empty one takes no task; it begins with what its parent
    // has.
    for (const auto* file : {"cpuset.cpus", "cpuset.mems"}) {
      const auto parent = (fs::path{dir}.parent_path() / file).string();
      if (version_ != CgroupVersion::kV1 || !fs::exists(parent)) continue;
      const auto value = kernel::read_file(parent);
      if (!value) return value.error();
      const auto written = kernel::write_file(dir + "/" + file, *value);
      if (!written) return written.error();
    }
  }
  return {};
}

Result<DemoTree> DemoTree::make(const kernel::HostRoots& roots,
                                CgroupVersion version,
                                CgroupDriver driver,
                                const std::vector<Pod>& pods,
                                int be_shares) {
  DemoTree tree{roots, version, driver};
  for (const auto other : {CgroupDriver::kCgroupfs, CgroupDriver::kSystemd}) {
    const auto root = kernel::CgroupLayout{other}.kubepods();
    if (fs::exists(tree.dirs_of(root).front())) {
      return Error{Errc::kDenied,
                   fmt::format("{}: this machine already has a kubepods tree: the demo does not "
                               "touch it (a leftover of a killed demo goes with rmdir)",
                               tree.dirs_of(root).front())};
    }
  }
  std::vector<CgroupPath> wanted{tree.layout_.kubepods(),
                                 tree.layout_.tier(KubeQos::kBurstable),
                                 tree.layout_.tier(KubeQos::kBestEffort)};
  for (const auto& pod : pods) {
    const auto dir = tree.layout_.pod(pod.qos, pod.uid);
    if (!dir) return dir.error();
    const auto container = tree.layout_.container(*dir, "containerd", pod.container_id);
    if (!container) return container.error();
    wanted.push_back(*dir);
    wanted.push_back(*container);
  }
  for (const auto& path : wanted) {
    const auto made = tree.make_dir(path);
    if (!made) return made.error();
  }
  if (version == CgroupVersion::kV2) {
    for (const auto& path : wanted) {
      const bool is_parent = std::any_of(wanted.begin(), wanted.end(), [&](const auto& other) {
        return path.is_ancestor_of(other);
      });
      if (!is_parent) continue;  // a container: its tasks live there, it delegates nothing
      const auto delegated = kernel::write_file(
          tree.dirs_of(path).front() + "/cgroup.subtree_control", "+cpu +cpuset +memory");
      if (!delegated) return delegated.error();
    }
  }
  if (be_shares > 0) {
    kernel::CgroupFs cgroups{roots, version};
    const auto set =
        cgroups.write({tree.layout_.tier(KubeQos::kBestEffort), CgroupFile::kCpuWeight},
                      CgroupValue{Number{be_shares}});
    if (!set) return set.error();
  }
  return tree;
}

std::vector<std::string> DemoTree::procs_files(const Pod& pod) const {
  std::vector<std::string> out;
  const auto dir = layout_.pod(pod.qos, pod.uid);
  if (!dir) return out;
  const auto container = layout_.container(*dir, "containerd", pod.container_id);
  if (!container) return out;
  for (const auto& d : dirs_of(*container)) out.push_back(d + "/cgroup.procs");
  return out;
}

std::map<std::string, std::string> DemoTree::contents() const {
  std::map<std::string, std::string> out;
  for (const auto& path : made_) {
    for (const auto& dir : dirs_of(path)) {
      for (const auto* file : kControlFiles) {
        const auto text = kernel::read_file(dir + "/" + file);
        if (text) out[dir + "/" + file] = *text;
      }
    }
  }
  return out;
}

void DemoTree::remove_dir(const CgroupPath& path) {
  for (const auto& dir : dirs_of(path)) {
    for (int tries = 0; tries < 100 && rmdir(dir.c_str()) != 0 && errno == EBUSY; ++tries) {
      std::this_thread::sleep_for(
          std::chrono::milliseconds{20});  // the last task is still on its way out
    }
  }
}

void DemoTree::remove_pod(const Pod& pod) {
  const auto dir = layout_.pod(pod.qos, pod.uid);
  if (!dir) return;
  for (auto path = made_.rbegin(); path != made_.rend(); ++path) {
    if (*path == *dir || dir->is_ancestor_of(*path)) remove_dir(*path);
  }
  std::erase_if(made_, [&](const auto& path) { return path == *dir || dir->is_ancestor_of(path); });
}

void DemoTree::remove() {
  for (auto path = made_.rbegin(); path != made_.rend(); ++path) remove_dir(*path);
  made_.clear();
}

DemoTree::~DemoTree() { remove(); }

}  // namespace koordlet::demo
