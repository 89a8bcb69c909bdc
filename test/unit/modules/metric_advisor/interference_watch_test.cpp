#include "modules/metric_advisor/interference_watch.hpp"

#include <filesystem>

#include <boost/asio/io_context.hpp>
#include <doctest/doctest.h>

#include "host_fixture.hpp"
#include "kernel/perf_group.hpp"
#include "support/async.hpp"
#include "support/skip.hpp"

namespace koordlet {
namespace {

using namespace std::chrono_literals;
using test::Host;
using test::value_of;

/// One LS and one BE pod with a thread each; run-queue wait from schedstat, as where no BPF is.
struct Node : Host {
  Node() {
    tree.write("proc/self/schedstat", "1000 0 5\n");
    tree.write("proc/cpuinfo", "vendor_id : GenuineIntel\nmodel name : test\n");
    tree.write("cg/cpu/kubepods/burstable/podls/tasks", "7\n");
    tree.write("cg/cpu/kubepods/besteffort/podbe/tasks", "8\n");
    wait(0ms, 0);
    tree.write("proc/8/schedstat", "0 0 0\n");
  }
  void wait(std::chrono::nanoseconds total, int dispatches) const {
    tree.write("proc/7/schedstat", fmt::format("0 {} {}\n", total.count(), dispatches));
  }
  std::chrono::nanoseconds used{0}, waited{0}, be_total{0};
  int dispatches = 0;

  /// One window of 10 s in which the LS pod ran 5 s, waited `wait_time` and BE used `be`.
  void window(InterferenceWatch& watch, std::chrono::nanoseconds wait_time, MilliCpu be) {
    clock.advance(10s);
    used += 5s;
    waited += wait_time;
    dispatches += 1000;
    be_total += std::chrono::milliseconds{be.v * 10};
    usage("kubepods/burstable/podls", used);
    usage("kubepods/besteffort/podbe", be_total);
    wait(waited, dispatches);
    sample(watch, be);
  }
  void sample(InterferenceWatch& watch, MilliCpu be) {
    boost::asio::io_context loop;
    test::run(loop, watch.sample(std::make_shared<NodeState>(state), be));
  }
  kernel::CgroupFs cgroups{roots(), CgroupVersion::kV1};
  std::unique_ptr<InterferenceWatch> watch() {
    InterferenceWatch::Config config;
    config.bpf = false;
    config.perf = false;
    auto out = std::make_unique<InterferenceWatch>(config, roots(), cgroups, clock);
    out->open();
    return out;
  }
};

MetricAdvisor::SourceHealth health_of(const InterferenceWatch& watch, std::string_view name) {
  for (const auto& h : watch.health()) {
    if (h.name == name) return h;
  }
  return {std::string{name}, "not listed", {}, false};
}

TEST_SUITE("metric_advisor/interference_watch") {
  TEST_CASE(
      "a machine without hardware counters: unsupported, in words; switched off: not listed") {
    Node node;
    CHECK(health_of(*node.watch(), "perf counters").fault == "not listed");
    const auto there = kernel::probe_perf_events(kernel::interference_events(node.roots()));
    KOORDLET_SKIP_UNLESS(!there && (there.error().code == Errc::kNotFound ||
                                    there.error().code == Errc::kNotSupported),
                         "this machine has hardware counters, or they may not be opened");
    InterferenceWatch::Config config;
    config.bpf = false;
    InterferenceWatch watch{config, node.roots(), node.cgroups, node.clock};
    watch.open();
    CHECK(health_of(watch, "perf counters").unsupported);
    CHECK(health_of(watch, "perf counters").fault == "this machine has no hardware counters");
  }
  TEST_CASE("PSI of LS pods: cgroup v1 without it is unsupported, a damaged file is a failure") {
    Node node;
    const auto opened = node.watch();
    node.sample(*opened, MilliCpu{0});
    CHECK(health_of(*opened, "ls pod psi").unsupported);
    for (const char* resource : {"cpu", "memory", "io"}) {
      node.tree.write(fmt::format("cg/cpuacct/kubepods/burstable/podls/{}.pressure", resource),
                      "some\n");
    }
    const auto other = node.watch();
    node.sample(*other, MilliCpu{0});
    CHECK_FALSE(health_of(*other, "ls pod psi").unsupported);
    CHECK(health_of(*other, "ls pod psi").fault.find("podls") != std::string::npos);
  }
  TEST_CASE("without BPF the threads' schedstat is the source, and it is said why") {
    Node node;
    const auto opened = node.watch();
    auto& watch = *opened;
    CHECK(watch.run_queue_source() == "schedstat");
    CHECK(watch.run_queue_fault() == "switched off");
    CHECK(watch.perf_fault() == "switched off");
  }
  TEST_CASE("the first window gives nothing, the second a degree from the wait") {
    Node node;
    const auto opened = node.watch();
    auto& watch = *opened;
    node.sample(watch, MilliCpu{0});
    CHECK(watch.pods().empty());
    CHECK_FALSE(watch.node().value().degree);
    node.window(watch, 500ms, MilliCpu{1000});  // 0.1 of the run time: the middle of the ramp
    const auto& p = watch.pods().at("ls");
    CHECK(p.degree.degree == 50);
    CHECK(p.degree.be_degree == 50);
    CHECK(p.degree.top == InterferenceComponent::kCpu);
    CHECK(p.window.used == MilliCpu{500});
    CHECK(p.window.dispatches == 1000u);
    CHECK_FALSE(p.window.wait_p95);  // schedstat has no distribution
    CHECK(watch.node()->pod_uid == "ls");
    const auto samples = watch.take_samples();
    CHECK(value_of(samples, "pod_interference", "ls/degree") == 50);
    CHECK(value_of(samples, "pod_sched_latency", "ls/avg") == 500);  // us
    CHECK(value_of(samples, "node_interference", "degree") == 50);
    CHECK(watch.take_samples().empty());
  }
  TEST_CASE("a quiet LS pod is at 0; best effort itself has no degree") {
    Node node;
    const auto opened = node.watch();
    auto& watch = *opened;
    node.sample(watch, MilliCpu{0});
    node.window(watch, 50ms, MilliCpu{0});
    CHECK(watch.pods().size() == 1);
    CHECK(watch.pods().at("ls").degree.degree == 0);
  }
  TEST_CASE("interfered after three windows, and the pod that ran then is blamed after a minute") {
    Node node;
    const auto opened = node.watch();
    auto& watch = *opened;
    node.sample(watch, MilliCpu{0});
    for (int i = 0; i < 4; ++i) node.window(watch, 10ms, MilliCpu{0});
    for (int i = 0; i < 2; ++i) node.window(watch, 1500ms, MilliCpu{1500});
    CHECK_FALSE(watch.pods().at("ls").interfered);
    node.window(watch, 1500ms, MilliCpu{1500});
    const auto& p = watch.pods().at("ls");
    CHECK(p.interfered);
    CHECK(watch.node()->interfered);
    REQUIRE(p.culprits.size() == 1);
    CHECK(p.culprits.front().uid == "be");
    // wait / run 0.3 against 0.1 in every window in which it ran: 1 - 1/3.
    CHECK(p.culprits.front().score == doctest::Approx(2.0 / 3));
    CHECK(p.culprit_signal == "run queue");
  }
  TEST_CASE("what its own quota throttles is not counted") {
    Node node;
    const auto opened = node.watch();
    auto& watch = *opened;
    node.sample(watch, MilliCpu{0});
    node.tree.write("cg/cpu/kubepods/burstable/podls/cpu.stat",
                    "nr_periods 100\nnr_throttled 50\nthrottled_time 0\n");
    node.window(watch, 500ms, MilliCpu{1000});
    CHECK(watch.pods().at("ls").degree.degree == 25);
  }
  TEST_CASE("more throttled periods than periods: the share is unknown, and takes nothing off") {
    Node node;
    const auto opened = node.watch();
    auto& watch = *opened;
    node.sample(watch, MilliCpu{0});
    node.tree.write("cg/cpu/kubepods/burstable/podls/cpu.stat",
                    "nr_periods 6\nnr_throttled 35\nthrottled_time 0\n");
    node.window(watch, 500ms, MilliCpu{1000});
    const auto& p = watch.pods().at("ls");
    CHECK_FALSE(p.window.throttled);
    CHECK(p.degree.degree == 50);
    CHECK(std::count(p.degree.missing.begin(), p.degree.missing.end(), "throttling") == 1);
  }
  TEST_CASE("a pod that is gone has no degree any more") {
    Node node;
    const auto opened = node.watch();
    auto& watch = *opened;
    node.sample(watch, MilliCpu{0});
    node.window(watch, 500ms, MilliCpu{0});
    CHECK(watch.pods().size() == 1);
    node.state.pods.pop_back();
    node.window(watch, 500ms, MilliCpu{0});
    CHECK(watch.pods().empty());
    CHECK_FALSE(watch.node()->degree);
  }
  TEST_CASE("a cgroup made anew under its name starts from its own counters") {
    Node node;
    const auto opened = node.watch();
    auto& watch = *opened;
    node.sample(watch, MilliCpu{0});
    node.window(watch, 500ms, MilliCpu{0});
    node.used = 0ns;  // CPU went back: no rate, no window
    node.waited = 0ns;
    node.dispatches = 0;
    node.clock.advance(10s);
    node.usage("kubepods/burstable/podls", 0ns);
    node.wait(0ns, 0);
    const auto before = watch.pods().at("ls").window.at;
    node.sample(watch, MilliCpu{0});
    CHECK(watch.pods().empty());  // what cannot be told now is not told by an old window
    node.window(watch, 500ms, MilliCpu{0});
    CHECK(watch.pods().at("ls").window.at > before);
  }
  TEST_CASE("the cgroup of a pod goes before the pod: no degree from then on") {
    Node node;
    const auto opened = node.watch();
    auto& watch = *opened;
    node.sample(watch, MilliCpu{0});
    for (int i = 0; i < 3; ++i) node.window(watch, 2s, MilliCpu{1000});
    CHECK(watch.node()->interfered);
    std::filesystem::remove_all(node.tree.path("cg/cpuacct/kubepods/burstable/podls"));
    node.clock.advance(10s);
    node.sample(watch, MilliCpu{1000});
    CHECK(watch.pods().empty());
    CHECK_FALSE(watch.node()->interfered);
    CHECK_FALSE(watch.node()->degree);
  }
  TEST_CASE("switched off it reads nothing") {
    Node node;
    InterferenceWatch::Config config;
    config.enable = false;
    InterferenceWatch watch{config, node.roots(), node.cgroups, node.clock};
    watch.open();
    node.sample(watch, MilliCpu{0});
    node.window(watch, 500ms, MilliCpu{0});
    CHECK(watch.pods().empty());
    CHECK(watch.open_files() == 0);
  }
  TEST_CASE("baselines come back from their text, damaged ones are refused and leave the old") {
    Node node;
    const auto opened = node.watch();
    auto& watch = *opened;
    const auto text = watch.baselines_text();
    CHECK(watch.load_baselines(text).has_value());
    CHECK(watch.load_baselines("{").error().code == Errc::kParse);
    CHECK(watch.baselines() == 0);
  }
}

}  // namespace
}  // namespace koordlet
