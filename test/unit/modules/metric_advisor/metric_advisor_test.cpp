#include "modules/metric_advisor/metric_advisor.hpp"

#include <algorithm>
#include <string>

#include <boost/asio/io_context.hpp>
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "host_fixture.hpp"
#include "modules/metric_advisor/host_application.hpp"
#include "support/async.hpp"

namespace koordlet {
namespace {

using namespace std::chrono_literals;
using test::Host;
using test::value_of;

TEST_SUITE("metric_advisor") {
  TEST_CASE("the first reading is no sample, the second gives node, class and memory") {
    Host host;
    auto advisor = host.advisor();
    CHECK_FALSE(advisor.sample_node(host.state, host.layout));
    host.clock.advance(1s);
    host.node_seconds(3.0);
    host.usage("kubepods", 2500ms);
    host.usage("kubepods/besteffort", 1500ms);
    const auto s = advisor.sample_node(host.state, host.layout);
    REQUIRE(s);
    CHECK(s->seq == 1);
    CHECK(s->node_used == MilliCpu{3000});
    CHECK(s->kubepods_used == MilliCpu{2500});
    CHECK(s->be_used == MilliCpu{1500});
    CHECK(s->memory_total == Bytes{1000 * 1024});
    CHECK(s->memory_used == Bytes{600 * 1024});
    const auto samples = advisor.take_samples();
    CHECK(value_of(samples, "node_cpu_usage", "") == 3000);
    CHECK(value_of(samples, "sys_cpu_usage", "") == 500);
    CHECK(value_of(samples, "node_ls_cpu_usage", "") == 1000);
    CHECK(advisor.take_samples().empty());
  }
  TEST_CASE("what was decided is a sample of the next tick; no cap is no sample, never 0") {
    Host host;
    auto advisor = host.advisor();
    advisor.note_decision(2, MilliCpu{1200});
    auto samples = advisor.take_samples();
    CHECK(value_of(samples, "node_pressure_level", "") == 2);
    CHECK(value_of(samples, "node_be", "cpu/cap") == 1200);
    advisor.note_decision(0, std::nullopt);
    samples = advisor.take_samples();
    CHECK(value_of(samples, "node_pressure_level", "") == 0);
    CHECK_FALSE(value_of(samples, "node_be", "cpu/cap"));
  }
  TEST_CASE("without a kubepods tree the node is still measured, the classes are unknown") {
    Host host;
    auto advisor = host.advisor();
    static_cast<void>(advisor.sample_node(host.state, std::nullopt));
    host.clock.advance(1s);
    host.node_seconds(1.0);
    const auto s = advisor.sample_node(host.state, std::nullopt);
    REQUIRE(s);
    CHECK(s->node_used == MilliCpu{1000});
    CHECK_FALSE(s->kubepods_used);
    CHECK_FALSE(s->be_used);
  }
  TEST_CASE(
      "a damaged /proc/stat gives no sample and a named fault, and the next good one recovers") {
    Host host;
    auto advisor = host.advisor();
    static_cast<void>(advisor.sample_node(host.state, host.layout));
    host.clock.advance(1s);
    host.tree.write("proc/stat", "cpu x y\n");
    CHECK_FALSE(advisor.sample_node(host.state, host.layout));
    const auto health = advisor.health();
    const auto cpu = std::find_if(
        health.begin(), health.end(), [](const auto& h) { return h.name == "node cpu"; });
    REQUIRE(cpu != health.end());
    CHECK(cpu->fault != "");
    host.clock.advance(1s);
    host.node_seconds(4.0);
    const auto s = advisor.sample_node(host.state, host.layout);
    REQUIRE(s);
    CHECK(s->node_used == MilliCpu{2000});  // 4 s of CPU over the 2 s since the last good reading
  }
  TEST_CASE("a BE-labelled pod outside the BE root is counted apart") {
    Host host;
    auto labelled = std::make_shared<Pod>(*host.state.pods[1]);
    labelled->qos = QosClass::kBe;
    host.state.pods[1] = labelled;
    auto advisor = host.advisor();
    static_cast<void>(advisor.sample_node(host.state, host.layout));
    host.clock.advance(1s);
    host.node_seconds(1.0);
    host.usage("kubepods/burstable/podls", 700ms);
    const auto s = advisor.sample_node(host.state, host.layout);
    REQUIRE(s);
    CHECK(s->be_outside_used == MilliCpu{700});
  }
  TEST_CASE("the class poll answers over 200 ms windows and adds the last known rest of the node") {
    Host host;
    auto advisor = host.advisor();
    static_cast<void>(advisor.sample_node(host.state, host.layout));
    host.clock.advance(1s);
    host.node_seconds(1.0);
    host.usage("kubepods", 800ms);
    static_cast<void>(advisor.sample_node(host.state, host.layout));  // 200 m outside the pods
    CHECK_FALSE(advisor.sample_classes(host.state, host.layout));
    host.clock.advance(100ms);
    host.usage("kubepods", 900ms);
    CHECK_FALSE(advisor.sample_classes(host.state, host.layout));
    host.clock.advance(100ms);
    host.usage("kubepods", 1200ms);
    host.usage("kubepods/besteffort", 100ms);
    const auto s = advisor.sample_classes(host.state, host.layout);
    REQUIRE(s);
    CHECK(s->kubepods_used == MilliCpu{2000});
    CHECK(s->be_used == MilliCpu{500});
    CHECK(s->node_used == MilliCpu{2200});
    CHECK(s->seq == 2);
  }
  TEST_CASE("pods: memory on the first pass, CPU and throttling on the second (T3)") {
    Host host;
    auto advisor = host.advisor();
    boost::asio::io_context io;
    const auto state = std::make_shared<const NodeState>(host.state);
    test::run(io, advisor.collect_pods(state));
    REQUIRE(advisor.pods().contains("be"));
    CHECK(advisor.pods().at("be").memory == Bytes{157290496});
    CHECK_FALSE(advisor.pods().at("be").cpu);
    host.clock.advance(10s);
    host.usage("kubepods/besteffort/podbe", 5s);
    host.tree.write("cg/cpu/kubepods/besteffort/podbe/cpu.stat",
                    "nr_periods 100\nnr_throttled 30\nthrottled_time 7\n");
    test::run(io, advisor.collect_pods(state));
    CHECK(advisor.pods().at("be").cpu == MilliCpu{500});
    CHECK(advisor.pods().at("be").throttled == Permille{300});
    CHECK(advisor.pods().at("ls").cpu == MilliCpu{0});
    CHECK(value_of(advisor.take_samples(), "pod_cpu_usage", "be") == 500);
    host.clock.advance(10s);
    host.tree.write("cg/cpu/kubepods/besteffort/podbe/cpu.stat",
                    "nr_periods 106\nnr_throttled 65\nthrottled_time 9\n");  // 35 of 6
    test::run(io, advisor.collect_pods(state));
    CHECK_FALSE(advisor.pods().at("be").throttled);
    CHECK_FALSE(value_of(advisor.take_samples(), "pod_cpu_throttled", "be"));
  }
  TEST_CASE(
      "a pod whose cgroup went away has no new sample, a pod that left the state is forgotten") {
    Host host;
    auto advisor = host.advisor();
    boost::asio::io_context io;
    test::run(io, advisor.collect_pods(std::make_shared<const NodeState>(host.state)));
    static_cast<void>(advisor.take_samples());
    for (const char* c : {"cpuacct", "cpu", "memory"}) {
      host.tree.remove(fmt::format("cg/{}/kubepods/besteffort/podbe", c));
    }
    NodeState gone = host.state;
    gone.pods.erase(gone.pods.begin());
    host.clock.advance(10s);
    test::run(io, advisor.collect_pods(std::make_shared<const NodeState>(gone)));
    CHECK_FALSE(advisor.pods().contains("be"));
    CHECK_FALSE(value_of(advisor.take_samples(), "pod_memory_usage", "be"));
  }
  TEST_CASE("a pod without a path yet is not measured: the root cgroup is no pod's") {
    Host host;
    auto homeless = std::make_shared<Pod>(*host.state.pods[0]);
    homeless->cgroup = CgroupPath{};
    host.state.pods[0] = homeless;
    host.tree.write("cg/cpuacct/cpuacct.usage", "1\n");
    auto advisor = host.advisor();
    boost::asio::io_context io;
    test::run(io, advisor.collect_pods(std::make_shared<const NodeState>(host.state)));
    CHECK_FALSE(advisor.pods().contains("be"));
    CHECK(advisor.pods().contains("ls"));
  }
  TEST_CASE("host application directories") {
    const kernel::CgroupLayout layout{CgroupDriver::kSystemd};
    const auto dir =
        [&](const char* qos, const char* base, const char* parent, const char* relative) {
          return host_application_path({"db", qos, base, parent, relative}, layout);
        };
    CHECK(dir("LS", "", "", "")->str() == "host-latency-sensitive/db");
    CHECK(dir("BE", "", "", "")->str() == "host-best-effort/db");
    CHECK(dir("", "", "", "")->str() == "db");
    CHECK(dir("", "KubepodsBesteffort", "x", "y")->str() ==
          "kubepods.slice/kubepods-besteffort.slice/x/y");
    CHECK(dir("", "CgroupRoot", "", "../etc").has_error());
    CHECK(dir("", "CgroupRoot", "", "").has_error());
    CHECK(dir("", "Elsewhere", "", "").has_error());
  }
}

}  // namespace
}  // namespace koordlet
