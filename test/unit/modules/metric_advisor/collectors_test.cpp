#include <boost/asio/io_context.hpp>
#include <doctest/doctest.h>

#include "host_fixture.hpp"
#include "modules/metric_advisor/be_class.hpp"
#include "modules/metric_advisor/rate.hpp"
#include "support/async.hpp"

namespace koordlet {
namespace {

using namespace std::chrono_literals;
using test::Host;
using test::value_of;

MetricAdvisor::SourceHealth health_of(const MetricAdvisor& advisor, std::string_view name) {
  for (const auto& h : advisor.health()) {
    if (h.name == name) return h;
  }
  return {std::string{name}, "not listed", {}, false};
}

TEST_SUITE("metric_advisor/rates") {
  TEST_CASE("T25: 150 ms of stall in a second are 15 %") {
    StallRate rate;
    const MonoTime t0{100s};
    CHECK_FALSE(rate.update(t0, StallTotals{1'000'000us, std::nullopt}));
    const auto share = rate.update(t0 + 1s, StallTotals{1'150'000us, std::nullopt});
    REQUIRE(share);
    CHECK(share->some_percent == doctest::Approx(15));
    CHECK_FALSE(share->full_percent);
  }
  TEST_CASE(
      "totals that went back, and a time that stood still, give nothing and are the new base") {
    StallRate rate;
    const MonoTime t0{100s};
    static_cast<void>(rate.update(t0, StallTotals{500'000us, 100'000us}));
    CHECK_FALSE(rate.update(t0 + 1s, StallTotals{0us, 0us}));
    CHECK(rate.update(t0 + 2s, StallTotals{100'000us, 50'000us})->some_percent ==
          doctest::Approx(10));
    CHECK_FALSE(rate.update(t0 + 2s, StallTotals{200'000us, 50'000us}));
    CHECK(rate.update(t0 + 3s, StallTotals{300'000us, 50'000us})->some_percent ==
          doctest::Approx(10));
  }
  TEST_CASE("the kernel's own rounding is no more than 100 %") {
    StallRate rate;
    static_cast<void>(rate.update(MonoTime{1s}, StallTotals{0us, 0us}));
    const auto share = rate.update(MonoTime{2s}, StallTotals{1'000'900us, 1'000'100us});
    CHECK(share->some_percent == 100);
    CHECK(share->full_percent == 100.0);
  }
  TEST_CASE("T12: 2.5 GB in 10 s are 250 MB a second; a counter that wrapped is nothing") {
    CHECK(per_second(1'000'000'000, 3'500'000'000, 10s) == 250'000'000);
    CHECK_FALSE(per_second(3'500'000'000, 1'000'000'000, 10s));
    CHECK_FALSE(per_second(1, 2, 0s));
  }
  TEST_CASE(
      "IO of all devices together; a new device counts from zero, one that went back not at all") {
    IoUseRate rate;
    const kernel::DeviceNumber a{8, 0}, b{8, 16};
    CHECK_FALSE(rate.update(MonoTime{1s}, {{a, 100, 200, 1, 2}}));
    const auto both = rate.update(MonoTime{3s}, {{a, 300, 200, 5, 2}, {b, 50, 20, 4, 2}});
    REQUIRE(both);
    CHECK(*both == IoRate{125, 10, 4, 1});
    const auto reset = rate.update(MonoTime{4s}, {{a, 0, 0, 0, 0}, {b, 60, 20, 4, 2}});
    CHECK(*reset == IoRate{10, 0, 0, 0});
    CHECK(*rate.update(MonoTime{5s}, {}) == IoRate{});
  }
}

TEST_SUITE("metric_advisor/be_class") {
  TEST_CASE("T8: 12 CPUs and quotas of 3.5, none and 2.50001 cores") {
    BeRoot root;
    root.cpuset = CpuSet::range(0, 11);
    const auto limit = [&](Limit<std::chrono::microseconds> quota) {
      root.cpu_max.quota = quota;
      return be_real_limit(root);
    };
    CHECK(limit(Limit{350'000us}) == MilliCpu{3500});
    CHECK(limit(Limit<std::chrono::microseconds>::unlimited()) == MilliCpu{12'000});
    CHECK(limit(Limit{250'001us}) == MilliCpu{2500});
    CHECK(limit(Limit{9'000'000us}) == MilliCpu{12'000});
  }
  TEST_CASE("requests of labelled pods that run; finished pods and init containers left out") {
    const auto pod = [](PodPhase phase, QosClass qos) {
      auto p = std::make_shared<Pod>();
      p->phase = phase;
      p->qos = qos;
      Container c;
      c.requests.batch_cpu = MilliCpu{1000};
      p->containers.push_back(c);
      c.init = true;
      p->containers.push_back(c);
      return p;
    };
    NodeState state;
    state.pods = {pod(PodPhase::kRunning, QosClass::kBe),
                  pod(PodPhase::kSucceeded, QosClass::kBe),
                  pod(PodPhase::kRunning, QosClass::kLs)};
    CHECK(be_request(state) == MilliCpu{1000});
  }
}

/// A host with disks, a network, PSI and two NUMA nodes.
struct Machine : Host {
  Machine() {
    disks(1000, 350);
    net(1000);
    psi("cpu", 0);
    psi("memory", 0);
    psi("io", 0);
    for (const int node : {0, 1}) {
      tree.write(fmt::format("sys/devices/system/node/node{}/cpulist", node),
                 node == 0 ? "0-1\n" : "2-3\n");
    }
    cpus(0, 0);
  }
  void disks(long sectors, long io_ms) const {
    tree.write("proc/diskstats",
               fmt::format("8 0 sda 10 0 {0} 40 10 0 {0} 60 0 {1} 100\n"
                           "7 0 loop0 1 0 8 1 0 0 0 0 0 1 1\n",
                           sectors,
                           io_ms));
  }
  void net(long rx) const {
    tree.write("proc/net/dev",
               fmt::format("a|b\nlo: 9 9 0 0 0 0 0 0 9 9 0 0 0 0 0 0\n"
                           "eth0: {} 10 0 0 0 0 0 0 500 5 0 0 0 0 0 0\n",
                           rx));
  }
  void psi(std::string_view resource, long total_us) const {
    tree.write(fmt::format("proc/pressure/{}", resource),
               fmt::format("some avg10=0.00 avg60=0.00 avg300=0.00 total={}\n", total_us));
  }
  /// Seconds that CPUs 0 and 1, and 2 and 3, have been used for together.
  void cpus(double first, double second) const {
    const auto ticks = [&](double s) { return static_cast<long>(s * static_cast<double>(hz) / 2); };
    tree.write(
        "proc/stat",
        fmt::format("cpu {} 0 0 9 9 0 0 {} 0 0\ncpu0 {} 0 0 1 1 0 0 0 0 0\ncpu1 {} 0 0 1 1 0 0 "
                    "0 0 0\ncpu2 {} 0 0 1 1 0 0 0 0 0\ncpu3 {} 0 0 1 1 0 0 0 0 0\nintr 1\n",
                    2 * ticks(first) + 2 * ticks(second),
                    steal,
                    ticks(first),
                    ticks(first),
                    ticks(second),
                    ticks(second)));
  }
  long steal = 0;
};

TEST_SUITE("metric_advisor/node_usage") {
  TEST_CASE("T24: disks by /proc/diskstats: 350 ms of 1000 busy, loop devices left out") {
    Machine host;
    auto advisor = host.advisor();
    static_cast<void>(advisor.sample_node(host.state, host.layout));
    CHECK(advisor.node_usage().disks.empty());
    host.clock.advance(1s);
    host.disks(3000, 700);
    host.cpus(1, 0);
    static_cast<void>(advisor.sample_node(host.state, host.layout));
    REQUIRE(advisor.node_usage().disks.size() == 1);
    const auto& sda = advisor.node_usage().disks.front();
    CHECK(sda.name == "sda");
    CHECK(sda.busy == Permille{350});
    CHECK(sda.rate.read_bytes == 2000 * 512);
    CHECK(sda.rate.write_bytes == 2000 * 512);
    CHECK_FALSE(sda.await);  // no request ended
    CHECK(value_of(advisor.take_samples(), "node_disk_busy", "sda") == 350);
  }
  TEST_CASE(
      "networks, PSI, steal and the CPU of each NUMA node, a second after the first reading") {
    Machine host;
    auto advisor = host.advisor();
    static_cast<void>(advisor.sample_node(host.state, host.layout));
    host.clock.advance(1s);
    host.net(5000);
    host.psi("memory", 150'000);
    host.steal = 4 * host.hz / 10;  // 0.4 s of the 4 s that 4 CPUs had
    host.cpus(1.5, 0.5);
    static_cast<void>(advisor.sample_node(host.state, host.layout));
    const auto& u = advisor.node_usage();
    REQUIRE(u.networks.size() == 1);
    CHECK(u.networks.front().name == "eth0");
    CHECK(u.networks.front().rx_bytes == 4000);
    CHECK(u.stalls.memory.value().some_percent == doctest::Approx(15));
    CHECK(u.stalls.io.value().some_percent == 0);
    CHECK(u.steal == Permille{100});
    REQUIRE(u.numa.size() == 2);
    CHECK(u.numa[0].cpu == MilliCpu{1500});
    CHECK(u.numa[1].cpu == MilliCpu{500});
    const auto samples = advisor.take_samples();
    CHECK(value_of(samples, "node_psi", "mem/10/some") == 150);
    CHECK(value_of(samples, "node_numa_cpu_usage", "0") == 1500);
    CHECK(value_of(samples, "node_cpu_steal", "") == 100);
  }
  TEST_CASE("pitfall 40: a source that is missing stops no other, and is named") {
    Machine host;
    host.tree.remove("proc/pressure");
    host.tree.remove("proc/diskstats");
    auto advisor = host.advisor();
    static_cast<void>(advisor.sample_node(host.state, host.layout));
    host.clock.advance(1s);
    host.net(2000);
    host.cpus(1, 0);
    REQUIRE(advisor.sample_node(host.state, host.layout));
    CHECK(advisor.node_usage().networks.size() == 1);
    CHECK_FALSE(advisor.node_usage().stalls.memory);
    std::vector<std::string> faults;
    for (const auto& h : advisor.health()) {
      if (!h.fault.empty()) faults.push_back(h.name);
    }
    CHECK(faults ==
          std::vector<std::string>{"node disks", "node psi cpu", "node psi io", "node psi memory"});
    // Every kernel has disks to list; PSI is a matter of its build.
    CHECK_FALSE(health_of(advisor, "node disks").unsupported);
    CHECK(health_of(advisor, "node psi cpu").unsupported);
    CHECK(health_of(advisor, "node psi cpu").fault.starts_with("this kernel has no PSI"));
    host.psi("memory", 10);  // pitfall 41: it appears later
    host.clock.advance(1s);
    static_cast<void>(advisor.sample_node(host.state, host.layout));
    host.psi("memory", 100'010);
    host.clock.advance(1s);
    static_cast<void>(advisor.sample_node(host.state, host.layout));
    CHECK(advisor.node_usage().stalls.memory.value().some_percent == doctest::Approx(10));
  }
  TEST_CASE(
      "what this machine cannot have is unsupported, in words; what it has and lacks failed") {
    Machine host;
    auto advisor = host.advisor();
    boost::asio::io_context loop;
    test::run(loop, advisor.sample_slow());
    CHECK(health_of(advisor, "resctrl").unsupported);
    CHECK(health_of(advisor, "resctrl").fault == "neither this CPU nor this kernel offers resctrl");
    CHECK(health_of(advisor, "cold memory").unsupported);
    CHECK(health_of(advisor, "cold memory").fault == "this kernel counts no idle pages (kidled)");
    host.tree.write("proc/filesystems", "nodev\tresctrl\n");
    test::run(loop, advisor.sample_slow());
    CHECK_FALSE(health_of(advisor, "resctrl").unsupported);
    CHECK(health_of(advisor, "resctrl").fault.starts_with("not mounted: mount -t resctrl"));
    host.tree.write("sys/fs/resctrl/schemata", "L3:0=f\n");
    test::run(loop, advisor.sample_slow());
    CHECK_FALSE(health_of(advisor, "resctrl").unsupported);
    CHECK(health_of(advisor, "resctrl").fault.starts_with("no group of collect.resctrl_groups"));
    host.tree.write("sys/fs/resctrl/LS/mon_data/mon_L3_00/llc_occupancy", "1\n");
    test::run(loop, advisor.sample_slow());
    CHECK(health_of(advisor, "resctrl").fault.empty());
    host.tree.write("sys/fs/resctrl/BE/mon_data/mon_L3_00/llc_occupancy", "many\n");
    test::run(loop, advisor.sample_slow());
    CHECK(health_of(advisor, "resctrl").fault.find("llc_occupancy") != std::string::npos);
    CHECK_FALSE(health_of(advisor, "resctrl").unsupported);
  }
  TEST_CASE("PSI of pods: cgroup v1 without it is unsupported, a damaged file is a failure") {
    Host host;
    auto advisor = host.advisor();
    boost::asio::io_context loop;
    const auto pass = [&] {
      test::run(loop, advisor.collect_pods(std::make_shared<const NodeState>(host.state)));
    };
    pass();
    CHECK(health_of(advisor, "pod psi").unsupported);
    for (const char* resource : {"cpu", "memory", "io"}) {
      host.tree.write(fmt::format("cg/cpuacct/kubepods/besteffort/podbe/{}.pressure", resource),
                      "some\n");
    }
    auto other = host.advisor();
    test::run(loop, other.collect_pods(std::make_shared<const NodeState>(host.state)));
    CHECK_FALSE(health_of(other, "pod psi").unsupported);
    CHECK(health_of(other, "pod psi").fault.find("podbe") != std::string::npos);
  }
  TEST_CASE("resctrl bandwidth is a rate of its counter; groups that are missing are named") {
    Machine host;
    const auto mbm = [&](long bytes) {
      host.tree.write("sys/fs/resctrl/BE/mon_data/mon_L3_00/mbm_total_bytes",
                      fmt::format("{}\n", bytes));
    };
    host.tree.write("sys/fs/resctrl/BE/mon_data/mon_L3_00/llc_occupancy", "4096\n");
    mbm(1'000'000'000);
    auto advisor = host.advisor();
    boost::asio::io_context loop;
    const auto sample = [&] { test::run(loop, advisor.sample_slow()); };
    sample();
    REQUIRE(advisor.node_usage().caches.size() == 1);
    CHECK(advisor.node_usage().caches.front().occupancy_bytes == 4096);
    CHECK_FALSE(advisor.node_usage().caches.front().total_bytes_per_second);
    host.clock.advance(10s);
    mbm(3'500'000'000);
    sample();
    CHECK(advisor.node_usage().caches.front().total_bytes_per_second == 250'000'000);
    host.clock.advance(10s);
    mbm(5);
    sample();
    CHECK_FALSE(advisor.node_usage().caches.front().total_bytes_per_second);
  }
}

TEST_SUITE("metric_advisor/workloads") {
  TEST_CASE("a container: memory three ways, IO, and its source") {
    Host host;
    auto pod = std::make_shared<Pod>(*host.state.pods[1]);
    Container c;
    c.name = "app";
    c.runtime = "containerd";
    c.id = "abc";
    c.running = true;
    c.cgroup = pod->cgroup.child("abc");
    pod->containers.push_back(c);
    host.state.pods[1] = pod;
    const auto cg = c.cgroup->str();
    host.usage(cg, 0ns);
    host.tree.write(fmt::format("cg/cpu/{}/cpu.stat", cg),
                    "nr_periods 1000\nnr_throttled 40\nthrottled_time 0\n");
    host.memory(cg, 157'286'400, 209'715'200, 420'000'000);
    const auto io = [&](long bytes) {
      host.tree.write(fmt::format("cg/blkio/{}/blkio.throttle.io_service_bytes_recursive", cg),
                      fmt::format("8:0 Read {}\n8:0 Write 0\n", bytes));
      host.tree.write(fmt::format("cg/blkio/{}/blkio.throttle.io_serviced_recursive", cg),
                      "8:0 Read 1\n8:0 Write 0\n");
    };
    io(1000);
    auto advisor = host.advisor();
    boost::asio::io_context loop;
    const auto collect = [&] {
      test::run(loop, advisor.collect_pods(std::make_shared<NodeState>(host.state)));
    };
    collect();
    host.clock.advance(2s);
    host.usage(cg, 1s);
    host.tree.write(fmt::format("cg/cpu/{}/cpu.stat", cg),
                    "nr_periods 1010\nnr_throttled 43\nthrottled_time 0\n");
    io(9000);
    collect();
    const auto& u = advisor.containers().at("containerd://abc");
    CHECK(u.source == CounterSource::kFiles);
    CHECK(u.cpu == MilliCpu{500});
    CHECK(u.throttled == Permille{300});  // T4: 3 of 10
    CHECK(u.memory == Bytes{157'286'400});
    CHECK(u.memory_with_cache == Bytes{157'286'400 + 209'715'200});
    CHECK(u.working_set == Bytes{420'000'000 - 209'715'200});
    CHECK(u.io.value().read_bytes == 4000);
    CHECK_FALSE(u.stalls.cpu);  // v1 without PSI files: unknown
    const auto samples = advisor.take_samples();
    CHECK(value_of(samples, "container_memory_usage", "containerd://abc") == 157'286'400);
    CHECK(value_of(samples, "container_io_read_bytes", "containerd://abc") == 4000);
    CHECK(advisor.cgroup_source() == "files");
    CHECK(advisor.cgroup_source_fault() != "");
  }
  TEST_CASE("T3: without cache, with cache, and kubelet's working set") {
    Host host;
    const std::string cg = "kubepods/burstable/podls";
    host.tree.write("cg/memory/kubepods/burstable/podls/memory.usage_in_bytes", "420000000\n");
    auto advisor = host.advisor();
    boost::asio::io_context loop;
    test::run(loop, advisor.collect_pods(std::make_shared<NodeState>(host.state)));
    const auto& u = advisor.pods().at("ls");
    CHECK(u.memory == Bytes{157'290'496});
    CHECK(u.memory_with_cache == Bytes{398'462'976});
    CHECK(u.working_set == Bytes{210'284'800});
  }
  TEST_CASE("a v2 pod with PSI: the share of the interval, cpu without a full line told apart") {
    Host host;
    const auto at = [](std::string_view file) {
      return fmt::format("cg/kubepods/burstable/podls/{}", file);
    };
    const auto psi = [&](std::string_view resource, long some, long full) {
      host.tree.write(at(fmt::format("{}.pressure", resource)),
                      fmt::format("some avg10=0.00 avg60=0.00 avg300=0.00 total={}\n"
                                  "full avg10=0.00 avg60=0.00 avg300=0.00 total={}\n",
                                  some,
                                  full));
    };
    host.tree.write(at("cpu.stat"), "usage_usec 5000000\n");
    host.tree.write(
        at("memory.stat"),
        "inactive_anon 1\nactive_anon 2\ninactive_file 3\nactive_file 4\nunevictable 0\n");
    host.tree.write(at("memory.current"), "20\n");
    host.tree.write(at("io.stat"), "");
    psi("cpu", 0, 0);
    psi("memory", 0, 0);
    psi("io", 0, 0);
    MetricAdvisor advisor{{}, host.roots(), CgroupVersion::kV2, host.clock};
    boost::asio::io_context loop;
    test::run(loop, advisor.collect_pods(std::make_shared<NodeState>(host.state)));
    host.clock.advance(10s);
    host.tree.write(at("cpu.stat"), "usage_usec 12500000\n");
    psi("cpu", 4'000'000, 1'000'000);
    test::run(loop, advisor.collect_pods(std::make_shared<NodeState>(host.state)));
    const auto& u = advisor.pods().at("ls");
    CHECK(u.cpu == MilliCpu{750});
    CHECK(u.stalls.cpu.value().some_percent == doctest::Approx(40));
    CHECK(u.stalls.cpu.value().full_percent.value() == doctest::Approx(10));
    const auto samples = advisor.take_samples();
    CHECK(value_of(samples, "pod_psi", "ls/cpu/10/some") == 400);
    CHECK(value_of(samples, "pod_psi_cpu_full_supported", "ls") == 1);
    CHECK(u.io.value() == IoRate{});
  }
}

}  // namespace
}  // namespace koordlet
