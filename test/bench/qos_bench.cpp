// Figures of the QoS tick and of the executor on this kernel's own cgroup v1 tree. One JSON object
// a line; root only.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "bench/report.hpp"
#include "kernel/cgroup_fs.hpp"
#include "modules/qos_manager/qos_manager.hpp"
#include "modules/resource_executor/resource_executor.hpp"
#include "reactor/worker.hpp"
#include "store/journal.hpp"
#include "store/lmdb_env.hpp"
#include "support/async.hpp"
#include "unit/policy/world.hpp"

namespace koordlet::bench {
void bench_recorder();  // recorder_bench.cpp
}

namespace {

using namespace koordlet;
using namespace koordlet::bench;
using namespace koordlet::test;
using Steady = std::chrono::steady_clock;

constexpr int kPods = 1000, kWrites = 500, kTicks = 300, kBatches = 101;

double at(std::vector<double> all, double share) {
  std::sort(all.begin(), all.end());
  return all[static_cast<std::size_t>(share * static_cast<double>(all.size() - 1))];
}

template <class F>
double milliseconds_of(F&& work) {
  const auto start = Steady::now();
  work();
  return std::chrono::duration<double, std::milli>(Steady::now() - start).count();
}

/// 1000 BE pods below a root of our own, in the cpu hierarchy.
class PodTree {
 public:
  PodTree() : root_{fmt::format("koordlet-bench-{}", ::getpid())} {
    make(root_);
    for (int i = 0; i < kPods; ++i) make(pod(i));
  }
  ~PodTree() {
    for (int i = 0; i < kPods; ++i) ::rmdir(dir(pod(i)).c_str());
    ::rmdir(dir(root_).c_str());
  }
  std::string pod(int i) const { return fmt::format("{}/pod{:04}", root_, i); }
  std::string file(int i, const char* name) const { return dir(pod(i)) + '/' + name; }
  CgroupPath root() const { return CgroupPath::parse(root_).value(); }

 private:
  static std::string dir(const std::string& path) { return "/sys/fs/cgroup/cpu/" + path; }
  void make(const std::string& path) {
    if (::mkdir(dir(path).c_str(), 0755) != 0) throw std::runtime_error{"mkdir " + dir(path)};
  }
  std::string root_;
};

/// Descriptors as a program without any care would keep them.
class OpenFiles {
 public:
  OpenFiles(const PodTree& tree, int pods, std::initializer_list<const char*> names, int flags) {
    for (int i = 0; i < pods; ++i) {
      for (const auto* name : names) fds_.push_back(::open(tree.file(i, name).c_str(), flags));
    }
  }
  ~OpenFiles() {
    for (const int fd : fds_) ::close(fd);
  }
  void read_all() const {
    char buffer[64];
    for (const int fd : fds_) {
      if (::pread(fd, buffer, sizeof buffer, 0) <= 0) throw std::runtime_error{"pread"};
    }
  }
  void write_all(const std::string& text) const {
    for (const int fd : fds_) {
      if (::pwrite(fd, text.data(), text.size(), 0) < 0) throw std::runtime_error{"pwrite"};
    }
  }

 private:
  std::vector<int> fds_;
};

DesiredTable quotas(const PodTree& tree, int pods, std::int64_t quota_us, MonoTime since) {
  DesiredTable out;
  for (int i = 0; i < pods; ++i) {
    Desired wish;
    wish.value = CpuMax{Limit{std::chrono::microseconds{quota_us}}};
    wish.plugin = "pressure";
    wish.reason = "bench";
    wish.since = since;
    wish.order = 3;
    out.emplace(CgroupKey{CgroupPath::parse(tree.pod(i)).value(), CgroupFile::kCpuMax}, wish);
  }
  return out;
}

struct Bench {
  PodTree tree;
  boost::asio::io_context io;
  SystemClock clock;
  kernel::CgroupFs cgroups{kernel::HostRoots{}, CgroupVersion::kV1, 4096};
  std::string folder{fmt::format("/tmp/koordlet-bench-{}", ::getpid())};
  store::LmdbEnv env{store::LmdbEnv::open({folder}).value()};
  store::Journal journal{env};
  reactor::Worker storage{"storage"};
  ResourceExecutor executor{{}, cgroups, &journal, &storage, clock, "bench-boot"};

  ~Bench() { std::filesystem::remove_all(folder); }
  std::size_t apply(const DesiredTable& table, OutcomeKind kind) {
    const auto outcomes = run(io, executor.apply(table, clock.now()));
    return static_cast<std::size_t>(std::count_if(
        outcomes.begin(), outcomes.end(), [kind](const Outcome& o) { return o.kind == kind; }));
  }
};

void require(bool ok, const char* what) {
  if (!ok) throw std::runtime_error{what};
}

/// A tick that changes nothing: the plugins, the arbiter, and each held file read and compared.
void bench_tick(Bench& b) {
  World world{64'000};
  for (int i = 0; i < kPods; ++i) {
    auto pod = be_pod(fmt::format("be{:04}", i), 100);
    pod.cgroup = CgroupPath::parse(b.tree.pod(i)).value();
    world.pods.push_back(std::move(pod));
  }
  QosManager manager{policy::QosConfig{}};
  const OpenFiles files{b.tree, kPods, {"cpu.cfs_quota_us", "cpu.cfs_period_us"}, O_RDONLY};
  std::vector<double> ticks, floors;
  for (int i = 0; i < kTicks; ++i) {
    world.wait(std::chrono::seconds{1});
    world.sample(20'000, 10'000);
    const auto snap = world.snap();
    std::size_t unchanged = 0;
    const auto took =
        milliseconds_of([&] { unchanged = b.apply(manager.step(snap), OutcomeKind::kUnchanged); });
    floors.push_back(milliseconds_of([&] { files.read_all(); }));
    if (i < 2) continue;  // the first writes
    require(unchanged >= kPods, "tick: expected every pod's quota unchanged");
    ticks.push_back(took);
  }
  print("tick_1000_pods", at(ticks, 0.99), "ms (p99; 1000 cgroups)", at(floors, 0.99));
  print("tick_1000_pods_median", at(ticks, 0.5), "ms", at(floors, 0.5));
}

/// The policy's part of a tick that changes nothing. `labelled`: the pods are BE by their label, so
/// that their batch resources are kept too.
std::vector<double> policy_ticks(bool labelled) {
  World world{64'000};
  for (int i = 0; i < kPods; ++i) {
    auto pod = be_pod(fmt::format("be{:04}", i), 100);
    if (labelled) pod.qos = QosClass::kBe;
    pod.containers.at(0).limits.batch_cpu = MilliCpu{200};
    pod.containers.at(0).limits.batch_memory = Bytes{1 << 30};
    world.pods.push_back(std::move(pod));
  }
  QosManager manager{policy::QosConfig{}};
  std::shared_ptr<const NodeState> state;
  std::vector<double> out;
  for (int i = 0; i < kTicks; ++i) {
    world.wait(std::chrono::seconds{1});
    world.sample(20'000, 10'000);
    auto snap = world.snap();
    if (!state) state = snap.state;
    snap.state = state;  // as the informers have it: pods that did not change are the same objects
    const auto took = milliseconds_of([&] { manager.step(snap); });
    if (i > 2) out.push_back(took);
  }
  return out;
}

void bench_policy() {
  const auto bare = policy_ticks(false), kept = policy_ticks(true);
  print("policy_1000_pods_batch", at(kept, 0.5), "ms (median)", at(bare, 0.5));
}

void bench_writes(Bench& b, int pods, const char* name, const char* unit, double scale) {
  const auto since = b.clock.now();
  const auto tables = {quotas(b.tree, pods, 40'000, since), quotas(b.tree, pods, 50'000, since)};
  const OpenFiles files{b.tree, pods, {"cpu.cfs_quota_us"}, O_WRONLY};
  std::vector<double> batches, floors;
  for (int i = 0; i < kBatches; ++i) {
    const auto& table = *(tables.begin() + i % 2);
    std::size_t written = 0;
    const auto took = milliseconds_of([&] { written = b.apply(table, OutcomeKind::kWritten); });
    require(written == static_cast<std::size_t>(pods), "apply: expected every quota written");
    if (i > 1) batches.push_back(took * scale);
    const std::string text = i % 2 == 0 ? "41000" : "51000";
    const std::string back = i % 2 == 0 ? "40000" : "50000";
    floors.push_back(milliseconds_of([&] { files.write_all(text); }) * scale);
    files.write_all(back);  // no foreign value for the executor
  }
  print(name, at(batches, 0.5), unit, at(floors, 0.5));
}

}  // namespace

int main() try {
  ::setpriority(PRIO_PROCESS, 0, -20);
  bench_recorder();
  bench_policy();
  {
    Bench b;
    bench_tick(b);
  }
  {
    Bench b;
    bench_writes(b, kWrites, "apply_500_writes", "ms (1000 cgroups)", 1);
    b.executor.restore_all();
  }
  {
    Bench b;
    bench_writes(b, 1, "one_write", "us (1000 cgroups)", 1000);
    b.executor.restore_all();
  }
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "bench_qos: %s\n", e.what());
  return 1;
}
