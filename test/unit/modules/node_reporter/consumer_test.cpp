#include <algorithm>
#include <optional>
#include <string>

#include <boost/json/value.hpp>
#include <doctest/doctest.h>

#include "k8s/node_metric.hpp"
#include "k8s/quantity.hpp"
#include "k8s/time_text.hpp"
#include "report_fixture.hpp"

/// Our encoded object, read the way those read it who act on it.
namespace koordlet {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;
using test::kGi;
using test::pod;
using test::ReportBed;

/// Absent is nullopt, which each consumer treats in its own way.
std::optional<std::int64_t> cpu(const json::value& map) {
  const auto* r = map.as_object().if_contains("resources");
  if (r == nullptr) return std::nullopt;
  return k8s::parse_cpu(std::string{r->at("cpu").as_string()}).value().v;
}
std::optional<std::int64_t> memory(const json::value& map) {
  const auto* r = map.as_object().if_contains("resources");
  if (r == nullptr) return std::nullopt;
  return k8s::parse_memory(std::string{r->at("memory").as_string()}).value().v;
}

/// Load-aware scheduling: the node counts as unknown when updateTime is more than 180 s old; else
/// p95 of the 5 minute window, and the average while that is not there.
struct LoadAware {
  static bool expired(const json::value& status, WallTime now) {
    // RFC3339 of one zone and width sorts as time does.
    const std::string updated{status.at("updateTime").as_string()};
    return updated < k8s::format_time(now - 180s);
  }
  static std::optional<std::int64_t> cpu_used(const json::value& status) {
    const auto& node = status.at("nodeMetric");
    if (const auto* list = node.as_object().if_contains("aggregatedNodeUsages")) {
      for (const auto& entry : list->as_array()) {
        if (entry.at("duration") != "5m0s") continue;
        if (const auto p95 = cpu(entry.at("usage").at("p95"))) return p95;
      }
    }
    return cpu(node.at("nodeUsage"));
  }
};

/// Batch resources: capacity - margin - system use - use of all pods of class koord-prod or none,
/// never below 0.
struct BatchResource {
  std::int64_t capacity_milli, capacity_bytes;
  int margin_percent;
  ResourceUse of(const json::value& status) const {
    auto milli = capacity_milli - capacity_milli * margin_percent / 100;
    auto bytes = capacity_bytes - capacity_bytes * margin_percent / 100;
    const auto& system = status.at("nodeMetric").at("systemUsage");
    milli -= cpu(system).value_or(0);
    bytes -= memory(system).value_or(0);
    if (const auto* pods = status.as_object().if_contains("podsMetric")) {
      for (const auto& p : pods->as_array()) {
        const auto* priority = p.as_object().if_contains("priority");
        if (priority != nullptr && *priority != "koord-prod") continue;
        milli -= cpu(p.at("podUsage")).value_or(0);
        bytes -= memory(p.at("podUsage")).value_or(0);
      }
    }
    return {MilliCpu{std::max<std::int64_t>(0, milli)}, Bytes{std::max<std::int64_t>(0, bytes)}};
  }
};

/// Descheduling by node load: percent of capacity against a low and a high limit, both resources.
enum class Load { kUnder, kFit, kOver };
Load load(const json::value& status,
          std::int64_t capacity_milli,
          std::int64_t capacity_bytes,
          int low,
          int high) {
  const auto& use = status.at("nodeMetric").at("nodeUsage");
  const auto cpu_percent = 100 * cpu(use).value() / capacity_milli;
  const auto memory_percent = 100 * memory(use).value() / capacity_bytes;
  if (cpu_percent > high || memory_percent > high) return Load::kOver;
  return cpu_percent < low && memory_percent < low ? Load::kUnder : Load::kFit;
}

/// 16 cores, 64 Gi. Node 6200 m / 20 Gi, system 700 m / 2 Gi; prod pods 2500 m / 6 Gi and 1000 m /
/// 4 Gi, one mid pod 500 m / 1 Gi, one batch pod 1500 m / 7 Gi.
ReportBed busy() {
  ReportBed bed;
  bed.set_node(6200, 20 * kGi);
  bed.set("sys_cpu_usage", "", 700);
  bed.set("sys_memory_usage", "", 2 * kGi);
  bed.state.pods = {pod("a", "web", KubeQos::kGuaranteed, 9500),
                    pod("a", "plain", KubeQos::kBurstable),
                    pod("a", "mid", KubeQos::kBurstable, 7500),
                    pod("a", "job", KubeQos::kBestEffort, 5500)};
  bed.set_pod("web", 2500, 6 * kGi);
  bed.set_pod("plain", 1000, 4 * kGi);
  bed.set_pod("mid", 500, kGi);
  bed.set_pod("job", 1500, 7 * kGi);
  return bed;
}

json::value status_of(const ReportBed& bed) {
  const auto r = build_report(bed.input(), 3s);
  REQUIRE(std::holds_alternative<NodeReport>(r));
  return k8s::encode_node_metric_status(std::get<NodeReport>(r));
}

TEST_SUITE("node_reporter/consumers") {
  TEST_CASE("load-aware scheduling: a report is good for 180 s from its data") {
    auto bed = busy();
    for (auto& s : bed.series) s.ended = 2s;
    const auto status = status_of(bed);
    CHECK_FALSE(LoadAware::expired(status, bed.wall));
    CHECK_FALSE(LoadAware::expired(status, bed.wall + 178s));  // the data was 2 s old when sent
    CHECK(LoadAware::expired(status, bed.wall + 179s));
  }
  TEST_CASE("load-aware scheduling: p95 of 5 minutes, the average while it is cold") {
    auto bed = busy();
    CHECK(LoadAware::cpu_used(status_of(bed)) == 6203);  // the fixture's p95 is its mean + 3
    for (auto& s : bed.series) s.began = 100s;           // under half of 5 minutes
    CHECK(LoadAware::cpu_used(status_of(bed)) == 6200);
  }
  TEST_CASE("batch resources: prod pods and pods without a class count, mid and batch do not") {
    const auto status = status_of(busy());
    // 16000 - 10 % - 700 - 2500 - 1000 = 10200 m; 64 Gi - 6.4 Gi (cut to bytes) - 2 - 6 - 4 Gi.
    const auto r = BatchResource{16000, 64 * kGi, 10}.of(status);
    CHECK(r.cpu == MilliCpu{10200});
    CHECK(r.memory == Bytes{52 * kGi - 64 * kGi / 10});
  }
  TEST_CASE("batch resources: a small node has none, never a negative number") {
    const auto r = BatchResource{4000, 10 * kGi, 10}.of(status_of(busy()));
    CHECK(r.cpu == MilliCpu{0});  // 4000 - 400 - 4200
    CHECK(r.memory == Bytes{0});  // 10 - 1 - 12 Gi
  }
  TEST_CASE("a pod without samples is absent: its consumer then counts its request, not zero") {
    auto bed = busy();
    bed.state.pods.push_back(pod("a", "new", KubeQos::kGuaranteed, 9500));
    const auto status = status_of(bed);
    for (const auto& p : status.at("podsMetric").as_array()) CHECK(p.at("name") != "new");
    CHECK(status.at("podsMetric").as_array().size() == 4);
  }
  TEST_CASE("descheduling: use of both resources against the limits") {
    const auto status = status_of(busy());
    // 6200 / 16000 = 38 %, 20 / 64 = 31 %.
    CHECK(load(status, 16000, 64 * kGi, 45, 70) == Load::kUnder);
    CHECK(load(status, 16000, 64 * kGi, 30, 70) == Load::kFit);
    CHECK(load(status, 16000, 64 * kGi, 20, 35) == Load::kOver);
    CHECK(load(status, 16000, 25 * kGi, 45, 70) == Load::kOver);  // memory alone: 80 %
  }
}

}  // namespace
}  // namespace koordlet
