#include "k8s/node_slo_sections.hpp"

#include <string>

#include <doctest/doctest.h>

#include "unit/k8s/node_slo_bed.hpp"

using namespace koordlet;
using namespace koordlet::k8s;

namespace {

bool names(const std::vector<std::string>& faults, std::string_view part) {
  for (const auto& f : faults) {
    if (f.find(part) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

TEST_SUITE("k8s/node_slo burst") {
  TEST_CASE("API-1.4 vector 7: what is stated is taken, the rest stays absent") {
    const auto r = slo_of("{cpuBurstStrategy: {policy: auto}}");
    CHECK(r.faults.empty());
    CHECK(r.slo.burst == CpuBurstStrategy{BurstPolicy::kAuto, {}, {}, {}, {}});
    CHECK_FALSE(slo_of("{}").slo.burst);
    const auto all = slo_of(
        "{cpuBurstStrategy: {policy: cfsQuotaBurstOnly, cpuBurstPercent: 1000, "
        "cfsQuotaBurstPercent: 300, cfsQuotaBurstPeriodSeconds: -1, sharePoolThresholdPercent: "
        "50}, "
        "extensions: {qosPressure: {burstGatePercent: 55}}}");
    CHECK(all.faults.empty());
    CHECK(all.slo.burst == CpuBurstStrategy{BurstPolicy::kCfsQuotaBurstOnly, 1000, 300, -1, 50});
    CHECK(all.slo.pressure->burst_gate_percent == 55);
  }
  TEST_CASE("a refused field keeps its last good value and is named; a budget of 0 s is refused") {
    const auto good = slo_of(
        "{cpuBurstStrategy: {policy: auto, cpuBurstPercent: 60, cfsQuotaBurstPeriodSeconds: 30}}");
    const auto r = slo_of(
        "{cpuBurstStrategy: {policy: never, cpuBurstPercent: 10001, cfsQuotaBurstPercent: 99, "
        "cfsQuotaBurstPeriodSeconds: 0}}",
        &good.slo);
    CHECK(r.slo.burst == CpuBurstStrategy{BurstPolicy::kAuto, 60, {}, 30, {}});
    CHECK(r.faults.size() == 4);
    CHECK(names(r.faults, "spec.cpuBurstStrategy.policy: \"never\": expected none"));
    CHECK(names(r.faults,
                "spec.cpuBurstStrategy.cfsQuotaBurstPeriodSeconds: 0: expected -1 (no budget) or "
                "1..86400"));
    CHECK(slo_of("{cpuBurstStrategy: 7}", &good.slo).slo.burst == good.slo.burst);
  }
  TEST_CASE("the annotation: keys in any case; damaged JSON counts as absent, with a fault") {
    Refusals refusals{"pod x"};
    const auto read = [&](const std::string& text) {
      return decode_burst_annotation({{"koordinator.sh/cpuBurst", text}}, refusals);
    };
    CHECK(read(R"({"policy":"none","CPUBurstPercent":80})") ==
          CpuBurstStrategy{BurstPolicy::kNone, 80, {}, {}, {}});
    CHECK(refusals.take().empty());
    CHECK_FALSE(read("{"));
    CHECK_FALSE(read("[]"));
    CHECK(read(R"({"cpuBurstPercent":"x"})") == CpuBurstStrategy{});
    CHECK(refusals.take().size() == 3);
    CHECK_FALSE(decode_burst_annotation({}, refusals));
  }
}

TEST_SUITE("k8s/node_slo memory") {
  TEST_CASE("every class and field, and what is absent stays absent") {
    const auto r = slo_of(
        "{resourceQOSStrategy: {lsrClass: {memoryQOS: {enable: true, minLimitPercent: 100}}, "
        "beClass: {memoryQOS: {enable: false, throttlingPercent: 80, wmarkRatio: 95, "
        "wmarkScalePermill: 20, wmarkMinAdj: -25, priorityEnable: 1, priority: 12, oomKillGroup: "
        "1, "
        "pageCacheEnable: true, pageCacheReclaimSync: false, pageCacheLimitPercent: 50, "
        "pageCacheLimitSize: 4096}}, systemClass: {cpuQOS: {}}, "
        "cgroupRoot: {memoryQOS: {lowLimitPercent: 1}}}}");
    CHECK(r.faults.empty());
    REQUIRE(r.slo.memory_qos.lsr);
    CHECK(r.slo.memory_qos.lsr->min_percent == 100);
    CHECK_FALSE(r.slo.memory_qos.lsr->low_percent);
    CHECK_FALSE(r.slo.memory_qos.ls);
    CHECK_FALSE(r.slo.memory_qos.system);
    CHECK(r.slo.memory_qos.root->low_percent == 1);
    const auto& be = *r.slo.memory_qos.be;
    CHECK(be.enable == false);
    CHECK(be.wmark_min_adj == -25);
    CHECK(be.priority == 12);
    CHECK(be.page_cache_limit_size == Bytes{4096});
    CHECK(be.page_cache_reclaim_sync == false);
  }
  TEST_CASE("a refused field, section or strategy keeps its last good value") {
    const auto good = slo_of(
        "{resourceQOSStrategy: {lsClass: {memoryQOS: {enable: true, minLimitPercent: 20}}}}");
    const auto r = slo_of(
        "{resourceQOSStrategy: {lsClass: {memoryQOS: {enable: 1, minLimitPercent: 101, "
        "wmarkScalePermill: 0, pageCacheLimitSize: -1}}}}",
        &good.slo);
    CHECK(r.slo.memory_qos == good.slo.memory_qos);
    CHECK(r.faults.size() == 4);
    CHECK(
        names(r.faults,
              "spec.resourceQOSStrategy.lsClass.memoryQOS.minLimitPercent: 101: expected 0..100"));
    CHECK(slo_of("{resourceQOSStrategy: {lsClass: {memoryQOS: []}}}", &good.slo).slo.memory_qos ==
          good.slo.memory_qos);
    CHECK(slo_of("{resourceQOSStrategy: x}", &good.slo).slo.memory_qos == good.slo.memory_qos);
  }
  TEST_CASE("the annotation and its policies") {
    Refusals refusals{"pod x"};
    const auto read = [&](const std::string& text) {
      return decode_memory_annotation({{"koordinator.sh/memoryQOS", text}}, refusals);
    };
    CHECK(read("{}")->policy == PodMemoryPolicy::kDefault);
    CHECK(read(R"({"policy":"auto","lowLimitPercent":7})")->fields.low_percent == 7);
    CHECK(read(R"({"policy":"none"})")->policy == PodMemoryPolicy::kNone);
    CHECK(refusals.take().empty());
    CHECK_FALSE(read(R"({"policy":"all"})"));
    CHECK_FALSE(read("no"));
    CHECK(refusals.take().size() == 2);
  }
  TEST_CASE("a pod carries its annotations and its overhead") {
    const auto documents = parse_documents(
        "metadata: {name: p, namespace: shop, uid: u1, annotations: "
        "{koordinator.sh/cpuBurst: '{\"policy\":\"auto\"}', koordinator.sh/memoryQOS: '{}'}}\n"
        "spec: {overhead: {cpu: 250m, memory: 1Mi}, containers: [{name: c}]}\n");
    REQUIRE(documents.has_value());
    const auto r = decode_pod(documents->front());
    REQUIRE(r.has_value());
    CHECK(r->faults.empty());
    CHECK(r->pod.burst->policy == BurstPolicy::kAuto);
    CHECK(r->pod.memory_qos == PodMemoryQos{});
    CHECK(r->pod.overhead.cpu == MilliCpu{250});
    CHECK(r->pod.overhead.memory == Bytes{1 << 20});
  }
}
