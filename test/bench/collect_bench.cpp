// Figures of a whole collection, and of the way from a PSI event to the tick. One JSON object a
// line; root only.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <fcntl.h>
#include <fstream>
#include <memory>
#include <poll.h>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <fmt/format.h>

#include "bench/report.hpp"
#include "kernel/fd.hpp"
#include "kernel/probe.hpp"
#include "modules/metric_advisor/metric_advisor.hpp"
#include "reactor/psi_trigger.hpp"
#include "support/async.hpp"

namespace {

using namespace koordlet;
using namespace koordlet::bench;
using BenchClock = std::chrono::steady_clock;
namespace asio = boost::asio;

double median(std::vector<double> all) {
  std::sort(all.begin(), all.end());
  return all.empty() ? 0 : all[all.size() / 2];
}

double quantile(std::vector<double> all, double q) {
  std::sort(all.begin(), all.end());
  return all.empty() ? 0 : all[std::min(all.size() - 1, static_cast<std::size_t>(q * all.size()))];
}

/// Reads that this process has asked the kernel for.
std::uint64_t reads_so_far() {
  std::ifstream io{"/proc/self/io"};
  std::string key;
  std::uint64_t value = 0;
  while (io >> key >> value) {
    if (key == "syscr:") return value;
  }
  return 0;
}

constexpr std::string_view kControllers[] = {"cpu", "cpuacct", "memory", "blkio"};
/// What one collection of a v1 cgroup reads.
constexpr std::pair<std::string_view, std::string_view> kFiles[] = {
    {"cpuacct", "cpuacct.usage"},
    {"cpu", "cpu.stat"},
    {"memory", "memory.stat"},
    {"memory", "memory.usage_in_bytes"},
    {"blkio", "blkio.throttle.io_service_bytes_recursive"},
    {"blkio", "blkio.throttle.io_serviced_recursive"}};

/// Pods of five containers below an own folder of each v1 hierarchy; gone with the object.
class Tree {
 public:
  explicit Tree(int pods) : name_{fmt::format("koordlet-bench-{}", ::getpid())} {
    make("");
    make("/kubepods");
    for (int p = 0; p < pods; ++p) {
      Pod pod;
      pod.uid = fmt::format("00000000-0000-4000-8000-{:012}", p);
      pod.phase = PodPhase::kRunning;
      pod.kube_qos = KubeQos::kGuaranteed;
      pod.cgroup = CgroupPath::parse("kubepods/pod" + pod.uid).value();
      make("/" + pod.cgroup.str());
      for (int c = 0; c < 5; ++c) {
        Container container;
        container.name = fmt::format("c{}", c);
        container.runtime = "containerd";
        container.id = fmt::format("{:064}", p * 5 + c);
        container.running = true;
        container.cgroup = pod.cgroup.child(container.id);
        make("/" + container.cgroup->str());
        pod.containers.push_back(std::move(container));
      }
      state_->pods.push_back(std::make_shared<const Pod>(std::move(pod)));
    }
  }
  ~Tree() {
    for (auto dir = made_.rbegin(); dir != made_.rend(); ++dir) ::rmdir(dir->c_str());
  }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  std::shared_ptr<const NodeState> state() const { return state_; }
  /// A cgroup root of links into the own folders: the bench tree is the whole machine.
  kernel::HostRoots roots() {
    kernel::HostRoots out;
    out.cgroup = fmt::format("/tmp/{}", name_);
    ::mkdir(out.cgroup.c_str(), 0700);
    for (const auto controller : kControllers) {
      const auto link = fmt::format("{}/{}", out.cgroup, controller);
      if (::symlink(fmt::format("/sys/fs/cgroup/{}/{}", controller, name_).c_str(), link.c_str()) ==
          0)
        links_.push_back(link);
    }
    return out;
  }
  void drop_links() {
    for (const auto& link : links_) ::unlink(link.c_str());
    ::rmdir(fmt::format("/tmp/{}", name_).c_str());
  }
  std::vector<kernel::Fd> open_all() const {
    std::vector<kernel::Fd> out;
    for (const auto& dir : groups_) {
      for (const auto& [controller, file] : kFiles) {
        const auto path = fmt::format("/sys/fs/cgroup/{}/{}{}/{}", controller, name_, dir, file);
        out.emplace_back(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
      }
    }
    return out;
  }

 private:
  void make(const std::string& path) {
    for (const auto controller : kControllers) {
      const auto dir = fmt::format("/sys/fs/cgroup/{}/{}{}", controller, name_, path);
      if (::mkdir(dir.c_str(), 0755) == 0) made_.push_back(dir);
    }
    if (path.find("pod0") != std::string::npos) groups_.push_back(path);
  }
  std::string name_;
  std::shared_ptr<NodeState> state_ = std::make_shared<NodeState>();
  std::vector<std::string> made_, groups_, links_;
};

double pread_all(const std::vector<kernel::Fd>& files) {
  static char buffer[65536];
  const auto start = BenchClock::now();
  for (const auto& fd : files) {
    if (::pread(fd.get(), buffer, sizeof buffer, 0) < 0) return -1;
  }
  return std::chrono::duration<double, std::milli>(BenchClock::now() - start).count();
}

struct Pass {
  double ms = 0;
  std::uint64_t reads = 0;
};

Pass collect(MetricAdvisor& advisor, const std::shared_ptr<const NodeState>& state) {
  asio::io_context loop;
  const auto before = reads_so_far();
  test::run(loop, advisor.collect_pods(state));
  Pass out;
  out.reads = reads_so_far() - before;
  out.ms = std::chrono::duration<double, std::milli>(advisor.last_collect()).count();
  static_cast<void>(advisor.take_samples());
  return out;
}

void collect_1000() {
  constexpr int kPasses = 21;
  Tree tree{200};
  const auto files = tree.open_all();
  const SystemClock clock;
  MetricAdvisor advisor{{}, tree.roots(), CgroupVersion::kV1, clock, 9000};
  static_cast<void>(collect(advisor, tree.state()));
  std::vector<double> ours, floor;
  for (int i = 0; i < kPasses; ++i) {  // alternating: both see the same company
    floor.push_back(pread_all(files));
    ours.push_back(collect(advisor, tree.state()).ms);
  }
  print("collect_1000_containers", median(ours), "ms", median(floor));
  tree.drop_links();
}

double reads_a_pod(int pods) {
  Tree tree{pods};
  const SystemClock clock;
  MetricAdvisor advisor{{}, tree.roots(), CgroupVersion::kV1, clock, 9000};
  static_cast<void>(collect(advisor, tree.state()));
  const auto pass = collect(advisor, tree.state());
  tree.drop_links();
  return static_cast<double>(pass.reads) / pods;
}

/// From the kernel's event, as a thread sees it that waits for nothing else, to the moment at which
/// the loop has woken its tick for it.
void psi_trigger_to_tick() {
  constexpr int kEvents = 50;
  constexpr const char* kFile = "/proc/pressure/cpu";
  const std::string trigger = "some 50000 2000000";
  const kernel::Fd own{::open(kFile, O_RDWR | O_NONBLOCK | O_CLOEXEC)};
  asio::io_context loop;
  auto opened = reactor::PsiTrigger::open(loop.get_executor(), kFile, trigger);
  if (!own || !opened || ::write(own.get(), trigger.c_str(), trigger.size() + 1) < 0) {
    fmt::print(stderr, "psi_trigger_to_tick: skipped: the kernel gives no trigger here\n");
    return;
  }
  // Two hogs on one CPU stall each other all the time: an event a window.
  std::atomic<bool> stop{false};
  std::vector<std::thread> hogs;
  for (int i = 0; i < 2; ++i) {
    hogs.emplace_back([&] {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(0, &one);
      ::sched_setaffinity(0, sizeof one, &one);
      ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), 5);  // not the kernel's workers
      while (!stop) {
      }
    });
  }
  std::vector<BenchClock::time_point> seen, ticked;
  std::thread watcher{[&] {
    pollfd fd{own.get(), POLLPRI, 0};
    while (seen.size() < kEvents && ::poll(&fd, 1, 10'000) > 0) seen.push_back(BenchClock::now());
  }};
  asio::co_spawn(
      loop,
      [](asio::io_context& io,
         reactor::PsiTrigger& events,
         std::vector<BenchClock::time_point>& out) -> asio::awaitable<void> {
        while (out.size() < kEvents) {
          const auto event = co_await events.wait();
          if (!event) break;
          out.push_back(BenchClock::now());
        }
        io.stop();  // the trigger's own wait is always armed
      }(loop, *opened, ticked),
      asio::detached);
  loop.run();
  watcher.join();
  stop = true;
  for (auto& hog : hogs) hog.join();
  std::vector<double> delays;
  for (std::size_t i = 0; i < std::min(seen.size(), ticked.size()); ++i) {
    delays.push_back(
        std::max(0.0, std::chrono::duration<double, std::micro>(ticked[i] - seen[i]).count()));
  }
  print("psi_trigger_to_tick_p50", quantile(delays, 0.5), "us", 0);
  print("psi_trigger_to_tick_p99", quantile(delays, 0.99), "us", 0);
}

}  // namespace

/// No argument: all of it; "collect" or "psi": that part alone (the second takes two minutes, as
/// the kernel gives one event a window).
int main(int argc, char** argv) {
  const std::string_view part = argc > 1 ? argv[1] : "";
  if (::getuid() != 0 || ::access("/sys/fs/cgroup/cpuacct", F_OK) != 0) {
    fmt::print(stderr, "collect_bench: skipped: needs root and cgroup v1 hierarchies\n");
    return 0;
  }
  static_cast<void>(kernel::raise_descriptor_limit());
  ::setpriority(PRIO_PROCESS, 0, -20);
  if (part != "psi") {
    collect_1000();
    const double few = reads_a_pod(13), many = reads_a_pod(217);
    print("collect_reads_a_pod_217", many, "reads", few);
    print("collect_reads_a_container", many / 6, "reads", 6);
  }
  if (part != "collect") psi_trigger_to_tick();
}
