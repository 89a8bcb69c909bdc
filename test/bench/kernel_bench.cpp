// Figures of the BPF programs on this kernel. One JSON object a line; root only.
#include <algorithm>
#include <bpf/bpf.h>
#include <chrono>
#include <cstdio>
#include <deque>
#include <fcntl.h>
#include <linux/magic.h>
#include <memory>
#include <sched.h>
#include <string>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "bench/report.hpp"
#include "kernel/cgroup_iterator.hpp"
#include "kernel/probe.hpp"
#include "kernel/sched_latency.hpp"
#include "live/bpf_kit.hpp"

namespace {

using namespace koordlet;
using namespace koordlet::bench;
using namespace koordlet::kernel;
using namespace koordlet::test;
using Clock_ = std::chrono::steady_clock;

double median(std::vector<double> all) {
  std::sort(all.begin(), all.end());
  return all.empty() ? 0 : all[all.size() / 2];
}

template <class F>
double milliseconds_of(F&& work) {
  const auto start = Clock_::now();
  work();
  return std::chrono::duration<double, std::milli>(Clock_::now() - start).count();
}

std::string v2_tree() {
  for (const char* below : {"", "/unified"}) {
    const std::string path = HostRoots{}.cgroup + below;
    struct statfs fs {};
    if (::statfs(path.c_str(), &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC) return path;
  }
  return {};
}

/// Whatever else wants this CPU waits: the figures are of the work, not of the company.
void favour_us() { ::setpriority(PRIO_PROCESS, 0, -20); }

constexpr int kPods = 200, kContainers = 5, kActive = 40, kPasses = 51;

/// 200 pods of 5 containers, and 40 processes that wake every few milliseconds in some of them.
class BenchTree {
 public:
  BenchTree() : base_{fmt::format("{}/koordlet-bench-{}", v2_tree(), ::getpid())} {
    for (int p = 0; p < kPods; ++p) {
      const auto& pod = groups_.emplace_back(base_.file(fmt::format("pod{}", p)));
      for (int c = 0; c < kContainers; ++c) groups_.emplace_back(pod.file(fmt::format("c{}", c)));
    }
    for (int i = 0; i < kActive; ++i) {
      const std::size_t container = static_cast<std::size_t>(i) * 5 * (kContainers + 1) + 1;
      processes_.emplace_back(groups_[container], i % cpus(), [] {
        spin_a_little();
        ::usleep(5000);
      });
      processes_.back().go();
    }
  }
  ~BenchTree() {
    processes_.clear();
    while (!groups_.empty()) groups_.pop_back();
  }
  BenchTree(const BenchTree&) = delete;
  BenchTree& operator=(const BenchTree&) = delete;

  bool ok() const {
    return base_.ok() &&
           std::all_of(groups_.begin(), groups_.end(), [](const auto& g) { return g.ok(); });
  }
  const std::string& directory() const { return base_.directory(); }
  const std::deque<LiveCgroup>& groups() const { return groups_; }

 private:
  static int cpus() { return static_cast<int>(std::thread::hardware_concurrency()); }
  static void spin_a_little() {
    for (int i = 0; i < 1000; ++i) static_cast<void>(::getppid());
  }
  LiveCgroup base_;
  std::deque<LiveCgroup> groups_;
  std::deque<HeldProcess> processes_;
};

/// One pass of the iterator against one pread of each cgroup's cpu.stat, kept open.
int collect_1000_containers_bpf() {
  static_cast<void>(raise_descriptor_limit().has_value());
  const BenchTree tree;
  favour_us();
  if (!tree.ok()) {
    fmt::print(stderr, "bench: cannot make cgroups below '{}'\n", v2_tree());
    return 1;
  }
  const auto iterator = CgroupIterator::open(tree.directory());
  if (!iterator) {
    fmt::print(stderr, "bench: {}\n", iterator.error().context);
    return 1;
  }
  std::vector<Fd> files;
  for (const auto& group : tree.groups()) {
    files.emplace_back(::open(group.file("cpu.stat").c_str(), O_RDONLY | O_CLOEXEC));
    if (!files.back()) return 1;
  }
  std::vector<double> ours, floor;
  bool whole = true;
  for (int pass = 0; pass < kPasses; ++pass) {
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
    ours.push_back(milliseconds_of([&] {
      const auto table = (*iterator)->read();
      whole = whole && table && (*table)->size() == tree.groups().size() + 1;
    }));
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
    floor.push_back(milliseconds_of([&] {
      char text[4096];
      for (const auto& file : files) {
        whole = whole && ::pread(file.get(), text, sizeof text, 0) > 0;
      }
    }));
  }
  if (!whole) return 1;
  print("collect_1000_containers_bpf", median(ours), "ms", median(floor));
  return 0;
}

constexpr int kTurns = 100'000, kRounds = 11;

void pin() {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<int>(std::thread::hardware_concurrency()) - 1, &set);
  ::sched_setaffinity(0, sizeof set, &set);
}

/// Answers each byte with one.
class Partner {
 public:
  Partner() {
    if (::pipe2(there_, O_CLOEXEC) != 0 || ::pipe2(back_, O_CLOEXEC) != 0) return;
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    char byte = 0;
    while (::read(there_[0], &byte, 1) == 1 && ::write(back_[1], &byte, 1) == 1) {
    }
    ::_exit(0);
  }
  ~Partner() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Partner(const Partner&) = delete;
  Partner& operator=(const Partner&) = delete;

  /// Nanoseconds a context switch, of which one turn has two.
  double turns() const {
    char byte = 0;
    const double ms = milliseconds_of([&] {
      for (int i = 0; i < kTurns; ++i) {
        if (::write(there_[1], &byte, 1) != 1 || ::read(back_[0], &byte, 1) != 1) return;
      }
    });
    return ms * 1e6 / (2.0 * kTurns);
  }

 private:
  int there_[2] = {-1, -1}, back_[2] = {-1, -1};
  pid_t pid_ = -1;
};

/// Time in our programs, by the kernel's own clock, for each run of the one on sched_switch.
double program_ns_a_switch() {
  std::uint64_t time = 0, switches = 0;
  for (const auto id : held_bpf_programs()) {
    const Fd fd{::bpf_prog_get_fd_by_id(id)};
    bpf_prog_info info{};
    __u32 size = sizeof info;
    if (!fd || ::bpf_obj_get_info_by_fd(fd.get(), &info, &size) != 0) continue;
    time += info.run_time_ns;
    if (std::string_view{info.name} == "koordlet_switch") switches = info.run_cnt;
  }
  return switches == 0 ? 0 : static_cast<double>(time) / static_cast<double>(switches);
}

Result<std::unique_ptr<SchedLatency>> open_probe() {
  const auto version = detect_cgroup_version({});
  if (!version) return version.error();
  auto probe = SchedLatency::open(*version);
  // As in use: there is a best-effort cgroup, so every switch looks for it.
  if (probe) static_cast<void>((*probe)->set_best_effort({1}).has_value());
  return probe;
}

int sched_latency_overhead() {
  pin();
  favour_us();
  const Partner partner;
  partner.turns();  // warm
  std::vector<double> with, without, added, ratios;
  for (int round = 0; round < kRounds; ++round) {
    without.push_back(partner.turns());
    const auto probe = open_probe();
    if (!probe) {
      fmt::print(stderr, "bench: {}\n", probe.error().context);
      return 1;
    }
    with.push_back(partner.turns());
    // By pairs: the speed of a virtual machine changes in the course of seconds.
    added.push_back(with.back() - without.back());
    ratios.push_back(with.back() / without.back());
  }
  fmt::print(
      R"({{"name": "sched_latency_overhead", "value": {:.1f}, "unit": "ns a switch", "floor": {:.1f}, "ratio": {:.3f}}})"
      "\n",
      median(added),
      median(without),
      median(ratios));
  print("context_switches_with_probe", 1e9 / median(with), "1/s", 1e9 / median(without));

  const auto probe = open_probe();
  if (!probe) return 1;
  const Fd stats{::bpf_enable_stats(BPF_STATS_RUN_TIME)};
  partner.turns();
  print("sched_latency_program", program_ns_a_switch(), "ns a switch", 0);
  return 0;
}

}  // namespace

int main() {
  const int collected = collect_1000_containers_bpf();
  std::fflush(stdout);
  const int switched = sched_latency_overhead();
  return collected != 0 ? collected : switched;
}
