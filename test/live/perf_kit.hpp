#pragma once

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sched.h>
#include <string>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "base/cpu_set.hpp"
#include "kernel/perf_group.hpp"
#include "kernel/procfs.hpp"
#include "support/fake_tree.hpp"

namespace koordlet::test {

inline const std::vector<kernel::PerfEventSpec> kSoftware{
    {"task-clock"}, {"context-switches"}, {"page-faults"}, {"cpu-migrations"}};

inline std::size_t open_files() {
  const std::filesystem::directory_iterator all{"/proc/self/fd"};
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

inline CpuSet online() {
  CpuSet out;
  if (const auto cpus = kernel::read_topology(kernel::HostRoots{})) {
    for (const auto& c : *cpus) out.add(c.cpu);
  }
  return out;
}

/// A PMU of a CPU under any of its names: "cpu", "cpu_core", "armv8_pmuv3_0".
inline bool has_pmu() {
  std::error_code ec;
  for (const auto& d : std::filesystem::directory_iterator{"/sys/bus/event_source/devices", ec}) {
    const auto name = d.path().filename().string();
    if (name == "cpu" || name.starts_with("cpu_") || name.starts_with("arm")) return true;
  }
  return false;
}

inline int paranoid() {
  std::ifstream in{"/proc/sys/kernel/perf_event_paranoid"};
  int out = 0;
  in >> out;
  return out;
}

/// The hierarchy that has perf_event, mounted in a private folder: unified, or v1's own where the
/// host mounted that. The controller is never moved from one to the other.
class PerfCgroups {
 public:
  PerfCgroups() {
    tree_.mkdir("cg");
    const auto at = tree_.path("cg");
    const bool unified = hierarchy() == "0";
    mounted_ = ::mount("none",
                       at.c_str(),
                       unified ? "cgroup2" : "cgroup",
                       0,
                       unified ? nullptr : "perf_event") == 0;
    for (const auto* name : {"busy", "busy/inner", "idle"}) {
      if (mounted_ && ::mkdir(path(name).c_str(), 0755) == 0) made_.push_back(path(name));
    }
  }
  ~PerfCgroups() {
    stop();
    for (auto dir = made_.rbegin(); dir != made_.rend(); ++dir) ::rmdir(dir->c_str());
    if (mounted_) ::umount2(tree_.path("cg").c_str(), MNT_DETACH);
  }
  PerfCgroups(const PerfCgroups&) = delete;
  PerfCgroups& operator=(const PerfCgroups&) = delete;

  bool usable() const { return made_.size() == 3; }
  std::string path(const std::string& name) const {
    const auto slash = name.find('/');
    const auto own = fmt::format("cg/koordlet-test-perf-{}-{}", ::getpid(), name.substr(0, slash));
    return tree_.path(own) + (slash == std::string::npos ? "" : name.substr(slash));
  }
  /// A child in `name` that computes, faults pages in and sleeps, over and over.
  bool work_in(const std::string& name) {
    const auto file = path(name) + "/cgroup.procs";
    child_ = ::fork();
    if (child_ == 0) {
      std::ofstream{file} << "0" << std::flush;
      for (;;) work_a_little();
    }
    return child_ > 0;
  }
  void stop() {
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    child_ = -1;
  }
  /// CPU time of the child so far.
  std::chrono::nanoseconds child_time() const {
    std::ifstream in{fmt::format("/proc/{}/schedstat", child_)};
    std::int64_t ns = 0;
    in >> ns;
    return std::chrono::nanoseconds{ns};
  }
  /// Until the child has got that much CPU time more; false when it does not come.
  bool let_work(std::chrono::nanoseconds more) const {
    const auto until = child_time() + more;
    for (int i = 0; i < 10'000; ++i) {
      if (child_time() >= until) return true;
      ::usleep(1000);
    }
    return false;
  }
  bool pin(int cpu) const {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    return ::sched_setaffinity(child_, sizeof set, &set) == 0;
  }
  void remove(const std::string& name) {
    ::rmdir(path(name).c_str());
    std::erase(made_, path(name));
  }

 private:
  static std::string hierarchy() {
    std::ifstream in{"/proc/cgroups"};
    std::string name, number, rest;
    while (in >> name >> number && std::getline(in, rest)) {
      if (name == "perf_event") return number;
    }
    return {};
  }
  static void work_a_little() {
    constexpr std::size_t kSize = 16 * 4096;
    auto* memory = static_cast<volatile char*>(
        ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (memory == MAP_FAILED) ::_exit(1);
    for (std::size_t i = 0; i < kSize; i += 4096) memory[i] = 1;
    for (int i = 0; i < 100'000; ++i) memory[0] = static_cast<char>(i);
    ::munmap(const_cast<char*>(memory), kSize);
    ::usleep(100);
  }

  FakeTree tree_;
  bool mounted_ = false;
  std::vector<std::string> made_;
  pid_t child_ = -1;
};

}  // namespace koordlet::test
