#include <boost/asio/io_context.hpp>
#include <doctest/doctest.h>

#include "host_fixture.hpp"
#include "support/async.hpp"

namespace koordlet {
namespace {

using test::Host;
using test::value_of;

/// One clean file class with `cold` bytes that were idle for long; the other three are empty.
std::string idle_pages(int cold) {
  return fmt::format(
      "# buckets: 1,2,5,15,30,60,120,240\n"
      "  cfei 7 7 7 7 7 {} 0 0\n  dfei 0 0 0 0 0 0 0 0\n"
      "  cfui 0 0 0 0 0 0 0 0\n  dfui 0 0 0 0 0 0 0 0\n",
      cold);
}

struct KidledHost : Host {
  KidledHost() {
    tree.write("sys/kernel/mm/kidled/scan_period_in_seconds", "5\n");
    tree.write("sys/kernel/mm/kidled/use_hierarchy", "1\n");
    tree.write("cg/memory/memory.idle_page_stats", idle_pages(1000));
    tree.write("cg/memory/kubepods/burstable/podls/memory.idle_page_stats", idle_pages(300));
    memory("kubepods/burstable/podls", 400, 500, 900);
  }
};

TEST_SUITE("metric_advisor/cold_memory") {
  TEST_CASE("the node and each pod: what is cold, and what is used without it") {
    KidledHost host;
    auto advisor = host.advisor();
    boost::asio::io_context loop;
    test::run(loop, advisor.sample_slow());
    test::run(loop, advisor.collect_pods(std::make_shared<NodeState>(host.state)));
    const auto samples = advisor.take_samples();
    CHECK(value_of(samples, "node_memory_cold_page_size", "") == 1000);
    CHECK(value_of(samples, "pod_memory_cold_page_size", "ls") == 300);
    CHECK(value_of(samples, "pod_memory_with_hot_page_usage", "ls") == 900 - 300);
    CHECK_FALSE(value_of(samples, "pod_memory_cold_page_size", "be"));  // it has no such file
  }
  TEST_CASE("a kernel that counts no idle pages: no series, and pods are not asked") {
    Host host;
    host.tree.write("cg/memory/kubepods/burstable/podls/memory.idle_page_stats", idle_pages(300));
    auto advisor = host.advisor();
    boost::asio::io_context loop;
    test::run(loop, advisor.sample_slow());
    test::run(loop, advisor.collect_pods(std::make_shared<NodeState>(host.state)));
    const auto samples = advisor.take_samples();
    CHECK_FALSE(value_of(samples, "node_memory_cold_page_size", ""));
    CHECK_FALSE(value_of(samples, "pod_memory_cold_page_size", "ls"));
  }
}

}  // namespace
}  // namespace koordlet
