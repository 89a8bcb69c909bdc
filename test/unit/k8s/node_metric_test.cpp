#include "k8s/node_metric.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "k8s/prune.hpp"

namespace koordlet::k8s {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;
using Durations = std::vector<std::chrono::seconds>;

constexpr std::int64_t kMi = 1024 * 1024;
constexpr std::int64_t kGi = 1024 * kMi;

json::value object(const char* policy) {
  return json::parse(fmt::format(
      R"({{"apiVersion":"slo.koordinator.sh/v1alpha1","kind":"NodeMetric",
          "metadata":{{"name":"n1","resourceVersion":"42","generation":7}},
          "spec":{{"metricCollectPolicy":{}}}}})",
      policy));
}

NodeMetricResult decode(const char* policy, const NodeMetricSpec* last = nullptr) {
  auto r = decode_node_metric(object(policy), last);
  REQUIRE(r.has_value());
  return *r;
}

ResourceUse use(std::int64_t milli, std::int64_t bytes) { return {MilliCpu{milli}, Bytes{bytes}}; }

/// The status example of reference 2.7, without the NUMA part, which we do not send.
NodeReport example() {
  NodeReport r;
  r.collected_at = WallTime{std::chrono::seconds{20658LL * 86400 + 24765}};
  r.node = use(3500, 6 * kGi);
  AggregatedUse cold;
  cold.duration = 30min;
  r.node_aggregated = {cold};
  r.pods = {{"default", "web", use(1000, 512 * kMi), PriorityClass::kProd, QosClass::kLs}};
  return r;
}

/// RFC 7386, as the server applies a merge patch.
json::value merged(json::value target, const json::value& patch) {
  if (!patch.is_object()) return patch;
  if (!target.is_object()) target = json::object{};
  auto& out = target.get_object();
  for (const auto& member : patch.get_object()) {
    if (member.value().is_null()) {
      out.erase(member.key());
    } else {
      const auto* before = out.if_contains(member.key());
      out[member.key()] = merged(before != nullptr ? *before : json::value{}, member.value());
    }
  }
  return target;
}

TEST_SUITE("k8s/node_metric spec") {
  TEST_CASE("an empty policy is all defaults, and names the version of the object") {
    const auto r = decode("{}");
    CHECK(r.spec == NodeMetricSpec{});
    CHECK(r.spec.aggregate == 300s);
    CHECK(r.spec.report_interval == 60s);
    CHECK(r.spec.durations == Durations{300s, 600s, 1800s});
    CHECK_FALSE(r.spec.interval_given);
    CHECK(r.name == "n1");
    CHECK(r.resource_version == "42");
    CHECK(r.generation == 7);
    CHECK(r.faults.empty());
  }
  TEST_CASE("stated fields are taken, and survive pruning") {
    constexpr auto kPolicy = R"({"aggregateDurationSeconds":120,"reportIntervalSeconds":30,
        "nodeAggregatePolicy":{"durations":["5m0s","1h0m0s"]},
        "nodeMemoryCollectPolicy":"usageWithPageCache"})";
    const auto r = decode(kPolicy);
    CHECK(r.spec.aggregate == 120s);
    CHECK(r.spec.report_interval == 30s);
    CHECK(r.spec.interval_given);
    CHECK(r.spec.durations == Durations{300s, 3600s});
    CHECK(r.spec.memory == MemoryCollectPolicy::kWithPageCache);
    CHECK(r.faults.empty());
    const auto again = decode_node_metric(prune(object(kPolicy)));
    REQUIRE(again.has_value());
    CHECK(again->spec == r.spec);
  }
  TEST_CASE("too small values are raised: 60 s for the window, 10 s for the interval") {
    const auto r = decode(R"({"aggregateDurationSeconds":5,"reportIntervalSeconds":1})");
    CHECK(r.spec.aggregate == 60s);
    CHECK(r.spec.report_interval == 10s);
    CHECK(r.faults.empty());
  }
  TEST_CASE("an empty list of durations and null keep the default") {
    CHECK(decode(R"({"nodeAggregatePolicy":{"durations":[]}})").spec.durations.size() == 3);
    CHECK(decode(R"({"nodeAggregatePolicy":{"durations":null}})").spec.durations.size() == 3);
    CHECK(decode(R"({"nodeAggregatePolicy":null})").spec.durations.size() == 3);
    CHECK(decode("null").spec == NodeMetricSpec{});
  }
  TEST_CASE("a bad field keeps its last good value, the others are taken, and each has its line") {
    NodeMetricSpec last;
    last.aggregate = 240s;
    last.report_interval = 45s;
    last.interval_given = true;
    last.durations = {60s};
    last.memory = MemoryCollectPolicy::kWithPageCache;
    const auto r = decode(R"({"aggregateDurationSeconds":"5m","reportIntervalSeconds":-1,
        "nodeAggregatePolicy":{"durations":["5m0s","soon"]},"nodeMemoryCollectPolicy":"all"})",
                          &last);
    CHECK(r.spec == last);
    REQUIRE(r.faults.size() == 4);
    CHECK(r.faults[0].starts_with(
        "nodemetric n1: spec.metricCollectPolicy.aggregateDurationSeconds: \"5m\": expected "));
    const auto partly =
        decode(R"({"aggregateDurationSeconds":0,"reportIntervalSeconds":20})", &last);
    CHECK(partly.spec.aggregate == 240s);
    CHECK(partly.spec.report_interval == 20s);
    CHECK(partly.spec.durations == Durations{300s, 600s, 1800s});  // absent is the default
  }
  TEST_CASE("a bad field without a last value is the default") {
    const auto r = decode(R"({"reportIntervalSeconds":1e9,"nodeAggregatePolicy":[1]})");
    CHECK(r.spec == NodeMetricSpec{});
    CHECK(r.faults.size() == 2);
  }
  TEST_CASE("too many durations and durations out of range are refused") {
    std::string many;
    for (int i = 0; i < 11; ++i) many += fmt::format("{}\"{}m0s\"", i == 0 ? "" : ",", i + 1);
    const auto text = fmt::format(R"({{"nodeAggregatePolicy":{{"durations":[{}]}}}})", many);
    CHECK(decode(text.c_str()).faults.size() == 1);
    for (const char* d : {"0s", "999ms", "169h", "-5m"}) {
      CAPTURE(d);
      const auto one = fmt::format(R"({{"nodeAggregatePolicy":{{"durations":["{}"]}}}})", d);
      const auto r = decode(one.c_str());
      CHECK(r.faults.size() == 1);
      CHECK(r.spec.durations.size() == 3);
    }
  }
  TEST_CASE("an object without a name is an error") {
    CHECK(decode_node_metric(json::parse(R"({"spec":{}})")).has_error());
    CHECK(decode_node_metric(json::parse("[]")).has_error());
  }
}

TEST_SUITE("k8s/node_metric status") {
  TEST_CASE("2.7: the example goes out as the reference has it") {
    const auto want = json::parse(R"({"updateTime":"2026-07-24T06:52:45Z","nodeMetric":{
      "nodeUsage":{"resources":{"cpu":"3500m","memory":"6Gi"}},
      "aggregatedNodeUsages":[{"usage":{"avg":{},"p50":{},"p90":{},"p95":{},"p99":{}},
        "duration":"30m0s"}],
      "systemUsage":{}},
      "podsMetric":[{"name":"web","namespace":"default",
        "podUsage":{"resources":{"cpu":"1","memory":"512Mi"}},"priority":"koord-prod","qos":"LS"}],
      "prodReclaimableMetric":{"resource":{}}})");
    CHECK(json::value(encode_node_metric_status(example())) == want);
  }
  TEST_CASE("K#2479: aggregates carry avg beside the percentiles") {
    auto r = example();
    r.node_aggregated[0].avg = use(2000, kGi);
    r.node_aggregated[0].p50 = use(1500, kGi);
    r.node_aggregated[0].p90 = use(1501, kGi);
    r.node_aggregated[0].p95 = use(1502, kGi);
    r.node_aggregated[0].p99 = use(1503, kGi);
    const json::value out = encode_node_metric_status(r);
    const auto& usage = out.at("nodeMetric").at("aggregatedNodeUsages").at(0).at("usage");
    CHECK(usage.as_object().size() == 5);
    CHECK(usage.at("avg").at("resources").at("cpu") == "2");
    CHECK(usage.at("p50").at("resources").at("cpu") == "1500m");
    CHECK(usage.at("p99").at("resources").at("cpu") == "1503m");
  }
  TEST_CASE("half a use goes out as {}: a missing memory must not read as none") {
    auto r = example();
    r.system.cpu = MilliCpu{200};
    CHECK(json::value(encode_node_metric_status(r)).at("nodeMetric").at("systemUsage") ==
          json::object{});
    r.system.memory = Bytes{0};  // a zero that was measured is kept
    CHECK(json::value(encode_node_metric_status(r)).at("nodeMetric").at("systemUsage") ==
          json::parse(R"({"resources":{"cpu":"200m","memory":"0"}})"));
  }
  TEST_CASE("empty lists and texts are left out") {
    auto r = example();
    r.pods[0].priority = PriorityClass::kNone;
    r.pods[0].qos = QosClass::kNone;
    r.host_applications = {{"db", use(1, 1), "", "LS"}};
    const json::value out = encode_node_metric_status(r);
    CHECK_FALSE(out.at("podsMetric").at(0).as_object().contains("priority"));
    CHECK_FALSE(out.at("podsMetric").at(0).as_object().contains("qos"));
    CHECK(
        out.at("hostApplicationMetric").at(0) ==
        json::parse(R"({"name":"db","usage":{"resources":{"cpu":"1m","memory":"1"}},"qos":"LS"})"));
    r.pods.clear();
    r.host_applications.clear();
    r.node_aggregated.clear();
    const json::value bare = encode_node_metric_status(r);
    CHECK_FALSE(bare.as_object().contains("podsMetric"));
    CHECK_FALSE(bare.as_object().contains("hostApplicationMetric"));
    CHECK_FALSE(bare.at("nodeMetric").as_object().contains("aggregatedNodeUsages"));
  }
  TEST_CASE("2.6: the predictor's figures keep every byte") {
    auto r = example();
    r.prod_reclaimable = use(2350, 4617089844);
    r.prod_peak = use(3650, 8267812044);
    const json::value out = encode_node_metric_status(r);
    CHECK(out.at("prodReclaimableMetric") ==
          json::parse(R"({"resource":{"resources":{"cpu":"2350m","memory":"4617089844"}}})"));
    CHECK(out.at("prodPeakMetric") ==
          json::parse(R"({"resource":{"resources":{"cpu":"3650m","memory":"8267812044"}}})"));
  }
}

TEST_SUITE("k8s/node_metric patch") {
  TEST_CASE("whatever stood there before, the patch leaves exactly the new status") {
    auto full = example();
    full.system = use(500, kGi);
    full.system_aggregated = full.node_aggregated;
    full.host_applications = {{"db", use(1, 1), "koord-prod", "LS"}};
    full.prod_reclaimable = use(1, 1);
    full.prod_peak = use(2, 2);
    auto before = json::value(encode_node_metric_status(full));
    before.at("nodeMetric").as_object()["numaUsages"] = json::array{1};
    before.at("nodeMetric").at("nodeUsage").as_object()["devices"] = json::array{1};
    NodeReport poor;
    poor.collected_at = full.collected_at + 60s;
    poor.node = use(1, 1);
    for (const auto& report : {poor, full}) {
      for (const auto& start : {before, json::value{}}) {
        const auto status = encode_node_metric_status(report);
        const json::value object{{"status", start}};
        const auto after = merged(object, node_metric_patch(status));
        CHECK(after.at("status") == json::value(status));
      }
    }
  }
}

TEST_SUITE("k8s/node_metric object") {
  TEST_CASE("a new object states the spec it will be read as, and its owner") {
    NodeMetricSpec spec;
    spec.memory = MemoryCollectPolicy::kWithHotPageCache;
    spec.interval_given = true;
    const json::value made = new_node_metric("n1", "uid-1", spec);
    const auto read = decode_node_metric(made);
    REQUIRE(read.has_value());
    CHECK(read->spec == spec);
    CHECK(read->faults.empty());
    CHECK(made.at("metadata").at("ownerReferences").at(0) ==
          json::parse(R"({"apiVersion":"v1","kind":"Node","name":"n1","uid":"uid-1",
                          "controller":true,"blockOwnerDeletion":true})"));
  }
  TEST_CASE("without the Node's uid there is no owner: a wrong one would have it deleted") {
    const json::value made = new_node_metric("n1", "", NodeMetricSpec{});
    CHECK_FALSE(made.at("metadata").as_object().contains("ownerReferences"));
  }
}

}  // namespace
}  // namespace koordlet::k8s
