#include <memory>

#include <boost/asio/io_context.hpp>
#include <doctest/doctest.h>

#include "host_fixture.hpp"
#include "support/async.hpp"

namespace koordlet {
namespace {

using namespace std::chrono_literals;
using test::Host;
using test::value_of;
using Samples = std::vector<store::MetricSample>;

constexpr std::int64_t kMiB = 1024 * 1024;

/// 1000 MiB of memory, 400 available: 600 used; two pods of 100 and 50 MiB.
struct Node : Host {
  Node() {
    meminfo(1000 * 1024, 400 * 1024);
    memory("kubepods/besteffort/podbe", 100 * kMiB, 30 * kMiB, 131 * kMiB);
    memory("kubepods/burstable/podls", 50 * kMiB, 0, 50 * kMiB);
    state.pods_at = clock.now();
  }
  void apps(std::vector<HostApplication> list) {
    auto slo = std::make_shared<NodeSlo>();
    slo->host_applications = std::move(list);
    state.slo = slo;
  }
  Samples collect(MetricAdvisor& advisor) {
    boost::asio::io_context io;
    test::run(io, advisor.collect_pods(std::make_shared<const NodeState>(state)));
    return advisor.take_samples();
  }
  void sample(MetricAdvisor& advisor) { static_cast<void>(advisor.sample_node(state, layout)); }
};

HostApplication app(const char* name,
                    const char* qos,
                    const char* base = "",
                    const char* path = "") {
  HostApplication out;
  out.name = name;
  out.qos = qos;
  out.base = base;
  out.relative_path = path;
  return out;
}

TEST_SUITE("metric_advisor/system use") {
  TEST_CASE("T10: system memory is the node's less the pods' less the host applications'") {
    Node node;
    node.apps({app("db", "LS")});
    node.usage("host-latency-sensitive/db", 0ns);
    node.memory("host-latency-sensitive/db", 150 * kMiB, 10 * kMiB, 161 * kMiB);
    auto advisor = node.advisor();
    node.sample(advisor);
    const auto samples = node.collect(advisor);
    CHECK(value_of(samples, "sys_memory_usage", "") == (600 - 100 - 50 - 150) * kMiB);
    CHECK(value_of(samples, "host_application_memory_usage", "db") == 150 * kMiB);
    CHECK(value_of(samples, "host_application_memory_usage_with_page_cache", "db") == 161 * kMiB);
  }
  TEST_CASE("T10: parts that are more than the whole leave 0, not a negative number") {
    Node node;
    node.memory("kubepods/besteffort/podbe", 900 * kMiB, 0, 900 * kMiB);
    auto advisor = node.advisor();
    node.sample(advisor);
    CHECK(value_of(node.collect(advisor), "sys_memory_usage", "") == 0);
  }
  TEST_CASE(
      "a pod whose memory cannot be read leaves the system's unknown, one that is gone does not") {
    Node node;
    auto advisor = node.advisor();
    node.sample(advisor);
    node.tree.write("cg/memory/kubepods/besteffort/podbe/memory.stat", "damaged\n");
    const auto damaged = node.collect(advisor);
    CHECK_FALSE(value_of(damaged, "sys_memory_usage", ""));
    CHECK(value_of(damaged, "pod_memory_usage", "ls") == 50 * kMiB);
    for (const char* c : {"cpuacct", "cpu", "memory"}) {
      node.tree.remove(fmt::format("cg/{}/kubepods/besteffort/podbe", c));
    }
    CHECK(value_of(node.collect(advisor), "sys_memory_usage", "") == 550 * kMiB);
  }
  TEST_CASE("pods that are not known yet are not no pods: no system memory") {
    Node node;
    node.state.pods.clear();
    node.state.pods_at = MonoTime{};
    auto advisor = node.advisor();
    node.sample(advisor);
    CHECK_FALSE(value_of(node.collect(advisor), "sys_memory_usage", ""));
  }
  TEST_CASE(
      "a host application that does not run uses nothing, one that cannot be read is unknown") {
    Node node;
    node.apps({app("db", "LS")});
    auto advisor = node.advisor();
    node.sample(advisor);
    const auto absent = node.collect(advisor);
    CHECK(value_of(absent, "sys_memory_usage", "") == 450 * kMiB);
    CHECK_FALSE(value_of(absent, "host_application_memory_usage", "db"));
    node.tree.write("cg/memory/host-latency-sensitive/db/memory.stat", "damaged\n");
    CHECK_FALSE(value_of(node.collect(advisor), "sys_memory_usage", ""));
  }
  TEST_CASE("host applications wait for the layout of the tree: unknown until then") {
    Node node;
    node.apps({app("db", "LS")});
    auto advisor = node.advisor();
    CHECK_FALSE(value_of(node.collect(advisor), "sys_memory_usage", ""));
  }
  TEST_CASE("T6b: page cache counts in the series that name it, and only there") {
    Node node;
    node.tree.write("proc/meminfo",
                    "MemTotal: 263432804 kB\nMemFree: 254391744 kB\nMemAvailable: 256703236 kB\n");
    auto advisor = node.advisor();
    node.sample(advisor);
    node.clock.advance(1s);
    node.node_seconds(1.0);
    node.sample(advisor);
    const auto samples = advisor.take_samples();
    CHECK(value_of(samples, "node_memory_usage_with_page_cache", "") == 9258045440);
    CHECK(value_of(samples, "node_memory_usage", "") == 6891077632);
    const auto pods = node.collect(advisor);
    CHECK(value_of(pods, "pod_memory_usage_with_page_cache", "be") == 130 * kMiB);
    CHECK(value_of(pods, "pod_memory_usage", "be") == 100 * kMiB);
  }
  TEST_CASE("K#1392: kilobytes of meminfo are bytes in the series") {
    Node node;
    node.meminfo(8000, 3000);
    auto advisor = node.advisor();
    node.sample(advisor);
    node.clock.advance(1s);
    node.node_seconds(1.0);
    node.sample(advisor);
    CHECK(value_of(advisor.take_samples(), "node_memory_usage", "") == 5120000);
  }
  TEST_CASE(
      "an application below kubepods is inside its counter: it is shown, not subtracted again") {
    Node node;
    node.apps({app("yarn", "BE", "KubepodsBesteffort", "yarn"), app("db", "LS")});
    node.usage("kubepods/besteffort/yarn", 0ns);
    node.usage("host-latency-sensitive/db", 0ns);
    auto advisor = node.advisor();
    node.sample(advisor);
    node.clock.advance(1s);
    node.node_seconds(3.0);
    node.usage("kubepods", 1500ms);
    node.usage("kubepods/besteffort/yarn", 400ms);
    node.usage("host-latency-sensitive/db", 700ms);
    const auto s = advisor.sample_node(node.state, node.layout);
    REQUIRE(s);
    CHECK(s->host_app_used == MilliCpu{700});
    const auto samples = advisor.take_samples();
    CHECK(value_of(samples, "host_application_cpu_usage", "yarn") == 400);
    CHECK(value_of(samples, "host_application_cpu_usage", "db") == 700);
    CHECK(value_of(samples, "sys_cpu_usage", "") == 3000 - 1500 - 700);
  }
}

}  // namespace
}  // namespace koordlet
