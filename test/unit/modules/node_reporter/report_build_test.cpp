#include "modules/node_reporter/report_build.hpp"

#include <doctest/doctest.h>

#include "report_fixture.hpp"

namespace koordlet {
namespace {

using namespace std::chrono_literals;
using test::kGi;
using test::kMi;
using test::pod;
using test::ReportBed;

NodeReport built(const ReportBed& bed, std::chrono::milliseconds limit = 3s) {
  auto r = build_report(bed.input(), limit);
  if (const auto* why = std::get_if<std::string>(&r)) FAIL("no report: " << *why);
  return std::get<NodeReport>(r);
}

std::string why_not(const ReportBed& bed, std::chrono::milliseconds limit = 3s) {
  const auto r = build_report(bed.input(), limit);
  const auto* why = std::get_if<std::string>(&r);
  return why != nullptr ? *why : "a report";
}

ResourceUse use(std::int64_t milli, std::int64_t bytes) { return {MilliCpu{milli}, Bytes{bytes}}; }

TEST_SUITE("node_reporter/build") {
  TEST_CASE("the node's use is the mean over the plain window, fractions cut off") {
    ReportBed bed;
    bed.set_node(3500.9, 6 * kGi + 0.7);
    bed.set("sys_cpu_usage", "", 250);
    bed.set("sys_memory_usage", "", kGi);
    const auto r = built(bed);
    CHECK(r.node == use(3500, 6 * kGi));
    CHECK(r.system == use(250, kGi));
    CHECK(r.health.empty());
  }
  TEST_CASE("the update time is that of the newest sample, by the wall clock of now") {
    ReportBed bed;
    bed.set("node_cpu_usage", "", 1, 3600s, 700ms);
    bed.set("node_memory_usage", "", 1, 3600s, 900ms);
    bed.wall += 5h;  // the wall clock was stepped since the boot anchor was taken
    CHECK(built(bed).collected_at == bed.wall - 900ms);
  }
  TEST_CASE("a sample that was moved past now does not date the report ahead") {
    ReportBed bed;
    bed.set("node_cpu_usage", "", 1, 3600s, -2ms);
    bed.set("node_memory_usage", "", 1, 3600s, -2ms);
    CHECK(built(bed).collected_at == bed.wall);
  }
  TEST_CASE(
      "K#1563, K#2076: collectors that stopped 60 s ago give no report, and the age is said") {
    ReportBed bed;
    bed.set("node_cpu_usage", "", 1000, 3600s, 60s);
    bed.set("node_memory_usage", "", kGi, 3600s, 60s);
    CHECK(why_not(bed) == "node_cpu_usage: newest sample is 60000 ms old, limit 3000 ms");
    CHECK(why_not(bed, 60s) == "a report");
  }
  TEST_CASE("a node without memory samples gives no report: it would look idle") {
    ReportBed bed;
    bed.set("node_cpu_usage", "", 1000);
    CHECK(why_not(bed) == "node_memory_usage: no sample in the last 300 s");
    CHECK(why_not(ReportBed{}) == "node_cpu_usage: no sample in the last 300 s");
  }
  TEST_CASE("pods that are not known yet are not no pods") {
    ReportBed bed;
    bed.set_node(1, 1);
    bed.state.pods_at = MonoTime{};
    CHECK(why_not(bed) == "pods: not known yet");
  }
  TEST_CASE("answers that do not belong to the questions are refused") {
    ReportBed bed;
    bed.set_node(1, 1);
    auto in = bed.input();
    in.answers.pop_back();
    CHECK(std::holds_alternative<std::string>(build_report(in, 3s)));
  }
  TEST_CASE("2.4: 5 minutes need 150 s of CPU samples, 30 minutes 900 s; keys and durations stay") {
    ReportBed bed;
    bed.set("node_memory_usage", "", kGi);
    bed.set("node_cpu_usage", "", 1000, 150'500ms, 500ms);  // a span of exactly 150 s
    auto r = built(bed);
    REQUIRE(r.node_aggregated.size() == 3);
    CHECK(r.node_aggregated[0].duration == 300s);
    CHECK(r.node_aggregated[0].avg == use(1000, kGi));
    CHECK(r.node_aggregated[0].p50 == use(1001, kGi + 1));
    CHECK(r.node_aggregated[0].p90 == use(1002, kGi + 2));
    CHECK(r.node_aggregated[0].p95 == use(1003, kGi + 3));
    CHECK(r.node_aggregated[0].p99 == use(1004, kGi + 4));
    CHECK(r.node_aggregated[1].avg == ResourceUse{});
    CHECK(r.node_aggregated[2].duration == 1800s);
    CHECK(r.node_aggregated[2].p99 == ResourceUse{});
    CHECK(r.node == use(1000, kGi));  // plain means have no cold start
    bed.series.back().began = 150'499ms;
    r = built(bed);
    CHECK(r.node_aggregated[0].avg == ResourceUse{});
    bed.series.back().began = 900'500ms;
    r = built(bed);
    CHECK(r.node_aggregated[2].avg == use(1000, kGi));
  }
  TEST_CASE(
      "K#2573: without a NodeSLO the node and its pods are reported, without host applications") {
    ReportBed bed;
    bed.set_node(1, 1);
    bed.state.pods = {pod("b", "x"), pod("a", "z"), pod("a", "y")};
    bed.set_pod("x", 10, kMi);
    bed.set_pod("y", 20, kMi);
    const auto r = built(bed);
    REQUIRE(r.pods.size() == 2);
    CHECK(r.pods[0].ns == "a");
    CHECK(r.pods[0].name == "y");
    CHECK(r.pods[1].ns == "b");
    CHECK(r.pods[1].use == use(10, kMi));
    CHECK(r.host_applications.empty());
    CHECK(r.health ==
          std::vector<std::string>{"system use: no samples", "1 active pods without samples"});
  }
  TEST_CASE("a pod with CPU samples only is left out: half a pod would count as no memory") {
    ReportBed bed;
    bed.set_node(1, 1);
    bed.state.pods = {pod("a", "x")};
    bed.set("pod_cpu_usage", "uid-x", 10);
    CHECK(built(bed).pods.empty());
  }
  TEST_CASE("a finished pod stays until its samples have left the window") {
    ReportBed bed;
    bed.set_node(1, 1);
    auto done = std::make_shared<Pod>(*pod("a", "x"));
    done->phase = PodPhase::kSucceeded;
    bed.state.pods = {done};
    bed.set("pod_cpu_usage", "uid-x", 10, 3600s, 299s);
    bed.set("pod_memory_usage", "uid-x", kMi, 3600s, 299s);
    CHECK(built(bed).pods.size() == 1);
    for (auto& s : bed.series) {
      if (!s.owner.empty()) s.ended = 301s;
    }
    const auto r = built(bed);
    CHECK(r.pods.empty());
    CHECK(r.health == std::vector<std::string>{"system use: no samples"});
  }
  TEST_CASE("3.2: priority and QoS are the ones with defaults") {
    ReportBed bed;
    bed.set_node(1, 1);
    auto labelled = std::make_shared<Pod>(*pod("a", "mid", KubeQos::kBurstable, 7100));
    labelled->qos = QosClass::kLs;
    bed.state.pods = {pod("a", "be", KubeQos::kBestEffort),
                      pod("a", "guaranteed", KubeQos::kGuaranteed, 0),
                      labelled,
                      pod("a", "system", KubeQos::kBurstable, 2000001000)};
    for (const char* name : {"be", "guaranteed", "mid", "system"}) bed.set_pod(name, 1, 1);
    const auto r = built(bed);
    REQUIRE(r.pods.size() == 4);
    CHECK(r.pods[0].priority == PriorityClass::kBatch);
    CHECK(r.pods[0].qos == QosClass::kBe);
    CHECK(r.pods[1].priority == PriorityClass::kProd);
    CHECK(r.pods[1].qos == QosClass::kLsr);
    CHECK(r.pods[2].priority == PriorityClass::kMid);
    CHECK(r.pods[2].qos == QosClass::kLs);
    CHECK(r.pods[3].priority == PriorityClass::kProd);
    CHECK(r.pods[3].qos == QosClass::kLs);
  }
  TEST_CASE("the spec says windows, percentiles and which memory counts") {
    ReportBed bed;
    NodeMetricSpec spec;
    spec.aggregate = 120s;
    spec.durations = {60s};
    spec.memory = MemoryCollectPolicy::kWithPageCache;
    bed.spec(spec);
    bed.state.pods = {pod("a", "x")};
    HostApplication db;
    db.name = "db";
    db.qos = "LS";
    db.priority = "koord-prod";
    bed.host_apps({db});
    bed.set("node_cpu_usage", "", 1000);
    bed.set("node_memory_usage_with_page_cache", "", 4 * kGi);
    bed.set("sys_cpu_usage", "", 100);
    bed.set("sys_memory_usage", "", kGi);
    bed.set("pod_cpu_usage", "uid-x", 10);
    bed.set("pod_memory_usage_with_page_cache", "uid-x", 2 * kMi);
    bed.set("host_application_cpu_usage", "db", 30);
    bed.set("host_application_memory_usage_with_page_cache", "db", 3 * kMi);
    const auto r = built(bed);
    CHECK(r.node == use(1000, 4 * kGi));
    CHECK(r.system == use(100, kGi));
    REQUIRE(r.node_aggregated.size() == 1);
    CHECK(r.node_aggregated[0].duration == 60s);
    REQUIRE(r.system_aggregated.size() == 1);
    CHECK(r.system_aggregated[0].avg == use(100, kGi));
    REQUIRE(r.pods.size() == 1);
    CHECK(r.pods[0].use == use(10, 2 * kMi));
    REQUIRE(r.host_applications.size() == 1);
    CHECK(r.host_applications[0] == HostApplicationUse{"db", use(30, 3 * kMi), "koord-prod", "LS"});
    // The other policies count without page cache, of which there is no sample here.
    spec.memory = MemoryCollectPolicy::kWithHotPageCache;
    bed.spec(spec);
    CHECK(why_not(bed) == "node_memory_usage: no sample in the last 120 s");
  }
  TEST_CASE("host applications are sorted, those without samples are left out") {
    ReportBed bed;
    bed.set_node(1, 1);
    HostApplication a, b, c;
    a.name = "c", b.name = "a", c.name = "b";
    bed.host_apps({a, b, c});
    for (const char* name : {"a", "c"}) {
      bed.set("host_application_cpu_usage", name, 1);
      bed.set("host_application_memory_usage", name, 1);
    }
    const auto r = built(bed);
    REQUIRE(r.host_applications.size() == 2);
    CHECK(r.host_applications[0].name == "a");
    CHECK(r.host_applications[1].name == "c");
  }
}

}  // namespace
}  // namespace koordlet
