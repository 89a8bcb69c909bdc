#include <string>

#include <doctest/doctest.h>

#include "unit/k8s/node_slo_bed.hpp"

using namespace koordlet;
using namespace koordlet::k8s;

namespace {

NodeSloResult threshold_of(const std::string& section, const NodeSlo* last = nullptr) {
  return slo_of("{resourceUsedThresholdWithBE: " + section + "}", last);
}

NodeSloResult hosts_of(const std::string& list, const NodeSlo* last = nullptr) {
  return slo_of("{hostApplications: " + list + "}", last);
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_SUITE("k8s/node_slo") {
  TEST_CASE("API-1.4 vector 1: an empty spec states nothing") {
    const auto r = slo_of("{}");
    CHECK(r.faults.empty());
    CHECK(r.name == "n1");
    CHECK(r.slo == NodeSlo{});
    CHECK(slo_of("null").slo == NodeSlo{});
  }

  TEST_CASE("API-1.4 vector 2: what is present is taken, the rest stays absent") {
    const auto r = threshold_of("{enable: true, memoryEvictThresholdPercent: 80}");
    CHECK(r.faults.empty());
    REQUIRE(r.slo.threshold.has_value());
    ThresholdStrategy want;
    want.enable = true;
    want.memory_evict_threshold_percent = 80;
    CHECK(*r.slo.threshold == want);
    CHECK(threshold_of("{}").slo.threshold == ThresholdStrategy{});
  }

  TEST_CASE("API-1.4 vector 8: an empty policy is as good as absent") {
    const auto r = threshold_of("{cpuSuppressPolicy: ''}");
    CHECK(r.faults.empty());
    CHECK_FALSE(r.slo.threshold->cpu_suppress_policy.has_value());
  }

  TEST_CASE("API-1.1: every field in its range, both ends") {
    const auto low = threshold_of(
        "{enable: false, cpuSuppressThresholdPercent: 0, cpuSuppressMinPercent: 0, "
        "cpuSuppressPolicy: cpuset, memoryEvictThresholdPercent: 0, memoryEvictLowerPercent: 0}");
    CHECK(low.faults.empty());
    CHECK(low.slo.threshold == ThresholdStrategy{false, 0, 0, SuppressPolicy::kCpuset, 0, 0, {}});
    const auto high = threshold_of(
        "{enable: true, cpuSuppressThresholdPercent: 100, cpuSuppressMinPercent: 100, "
        "cpuSuppressPolicy: cfsQuota, memoryEvictThresholdPercent: 100, memoryEvictLowerPercent: "
        "100}");
    CHECK(high.faults.empty());
    CHECK(high.slo.threshold ==
          ThresholdStrategy{true, 100, 100, SuppressPolicy::kCfsQuota, 100, 100, {}});
    CHECK(threshold_of("{cpuSuppressPolicy: podQuota}").slo.threshold->cpu_suppress_policy ==
          SuppressPolicy::kPodQuota);
  }

  TEST_CASE("API-1.1: a value out of range or of the wrong type is named and stays absent") {
    const auto r = threshold_of("{cpuSuppressThresholdPercent: 101, memoryEvictLowerPercent: 60}");
    REQUIRE(r.faults.size() == 1);
    CHECK(r.faults[0] ==
          "nodeslo n1: spec.resourceUsedThresholdWithBE.cpuSuppressThresholdPercent: 101: expected "
          "0..100");
    CHECK_FALSE(r.slo.threshold->cpu_suppress_threshold_percent.has_value());
    CHECK(r.slo.threshold->memory_evict_lower_percent == 60);
    for (const char* bad : {"{cpuSuppressThresholdPercent: -1}",
                            "{cpuSuppressThresholdPercent: \"65\"}",
                            "{cpuSuppressThresholdPercent: 65.5}",
                            "{cpuSuppressThresholdPercent: 99999999999999999999}",
                            "{cpuSuppressMinPercent: true}",
                            "{cpuSuppressPolicy: CPUSet}",
                            "{cpuSuppressPolicy: 1}",
                            "{memoryEvictThresholdPercent: 70.5}",
                            "{memoryEvictLowerPercent: [1]}",
                            "{enable: 'true'}",
                            "{enable: 1}"}) {
      CAPTURE(bad);
      const auto refused = threshold_of(bad);
      CHECK(refused.faults.size() == 1);
      CHECK(refused.slo.threshold == ThresholdStrategy{});
    }
    const auto section = threshold_of("[1]");
    REQUIRE(section.faults.size() == 1);
    CHECK(contains(section.faults[0],
                   "spec.resourceUsedThresholdWithBE: an array: expected an object"));
    CHECK_FALSE(section.slo.threshold.has_value());
  }

  TEST_CASE("a refused field keeps its last good value, a removed one does not") {
    NodeSlo last;
    last.threshold = ThresholdStrategy{true, 60, 10, SuppressPolicy::kCfsQuota, 75, 70, {}};
    const auto r = threshold_of(
        "{enable: 7, cpuSuppressThresholdPercent: 101, cpuSuppressPolicy: x, "
        "memoryEvictThresholdPercent: 80}",
        &last);
    CHECK(r.faults.size() == 3);
    CHECK(
        r.slo.threshold ==
        ThresholdStrategy{true, 60, std::nullopt, SuppressPolicy::kCfsQuota, 80, std::nullopt, {}});
    CHECK(threshold_of("5", &last).slo.threshold == last.threshold);
    CHECK(slo_of("{}", &last).slo == NodeSlo{});
    CHECK(slo_of("[]", &last).slo == last);
  }

  TEST_CASE("sections of other plugins and unknown keys are accepted") {
    const auto r = slo_of(
        "{resourceQOSStrategy: {beClass: {cpuQOS: {enable: true}}}, cpuBurstStrategy: {policy: "
        "auto}, "
        "systemStrategy: {minFreeKbytesFactor: 100}, extensions: {Object: null}, other: [1], "
        "resourceUsedThresholdWithBE: {CPUSuppressThresholdPercent: 999}}");
    CHECK(r.faults.empty());
    // CRD objects are read case-sensitively (section 0).
    CHECK(r.slo.threshold == ThresholdStrategy{});
  }

  TEST_CASE("QOS-12.2: qosPressure of extensions.Object, then of extensions") {
    const auto r = slo_of(
        "{extensions: {Object: {qosPressure: {enable: true, midPercent: 60, highPercent: 85, "
        "exitMarginPercent: 4, factorPermille: {none: 1000, mid: 650, high: 250}, "
        "relaxHoldSamples: 3, "
        "relaxStepPermille: 50, relaxGuard: false, raiseByPsi: false, raiseByInterference: true, "
        "psiMidPercent: 6, psiHighPercent: 16, degreeMid: 31, degreeHigh: 61, raiseMinBePercent: "
        "7, "
        "minQuotaUs: 2000, defaultRequestMilli: 100}}}}");
    CHECK(r.faults.empty());
    CHECK(r.slo.pressure == PressureStrategy{true,
                                             60,
                                             85,
                                             4,
                                             1000,
                                             650,
                                             250,
                                             3,
                                             50,
                                             false,
                                             false,
                                             true,
                                             6,
                                             16,
                                             31,
                                             61,
                                             7,
                                             2000,
                                             100});
    CHECK(slo_of("{extensions: {qosPressure: {midPercent: 61}}}").slo.pressure->mid_percent == 61);
    const auto both = slo_of(
        "{extensions: {Object: {qosPressure: {midPercent: 62}}, qosPressure: {midPercent: 61, "
        "highPercent: 90}}}");
    CHECK(both.slo.pressure->mid_percent == 62);
    CHECK_FALSE(both.slo.pressure->high_percent.has_value());
    CHECK_FALSE(slo_of("{extensions: {Object: {other: 1}}}").slo.pressure.has_value());
  }

  TEST_CASE("qosPressure fields of the wrong type are refused, with the last value kept") {
    NodeSlo last;
    last.pressure = PressureStrategy{};
    last.pressure->mid_percent = 60;
    last.pressure->factor_mid_permille = 700;
    const auto r = slo_of(
        "{extensions: {Object: {qosPressure: {midPercent: high, relaxGuard: 1, factorPermille: "
        "0.7}}}}",
        &last);
    CHECK(r.faults.size() == 3);
    CHECK(contains(r.faults[0], "spec.extensions.Object.qosPressure."));
    CHECK(r.slo.pressure->mid_percent == 60);
    CHECK(r.slo.pressure->factor_mid_permille == 700);
    CHECK_FALSE(r.slo.pressure->relax_guard.has_value());
    CHECK(slo_of("{extensions: {Object: {qosPressure: 1}}}", &last).slo.pressure == last.pressure);
    CHECK(slo_of("{extensions: {Object: {qosPressure: 1}}}").faults.size() == 1);
  }

  TEST_CASE("host applications with and without a cgroup path") {
    const auto r = hosts_of(
        "[{name: nginx, qos: LS}, {name: backup, qos: BE, cgroupPath: {base: CgroupRoot, "
        "parentDir: /host/be/, "
        "relativePath: backup}}, {name: plain}, {name: sys, qos: SYSTEM}, "
        "{name: k, cgroupPath: {base: KubepodsBesteffort, relativePath: x}}, {name: r, cgroupPath: "
        "{parentDir: y}}]");
    CHECK(r.faults.empty());
    const std::vector<HostApplication> want{{"nginx", "LS", "", "", ""},
                                            {"backup", "BE", "CgroupRoot", "host/be", "backup"},
                                            {"plain", "", "", "", ""},
                                            {"sys", "", "", "", ""},
                                            {"k", "", "KubepodsBesteffort", "", "x"},
                                            {"r", "", "CgroupRoot", "y", ""}};
    CHECK(r.slo.host_applications == want);
  }

  TEST_CASE("a host application that would leave its tree is refused") {
    for (const char* bad : {"{name: ../etc}",
                            "{name: a/b}",
                            "{name: ''}",
                            "{name: ..}",
                            "{qos: LS}",
                            "{name: 5}",
                            "{name: a, qos: ls}",
                            "{name: a, cgroupPath: {base: Root, parentDir: x}}",
                            "{name: a, cgroupPath: {parentDir: ../x}}",
                            "{name: a, cgroupPath: {relativePath: a/../../x}}",
                            "{name: a, cgroupPath: {relativePath: a//b}}",
                            "{name: a, cgroupPath: {relativePath: 'a b'}}",
                            "{name: a, cgroupPath: {base: Kubepods}}",
                            "{name: a, cgroupPath: {}}",
                            "{name: a, cgroupPath: 3}",
                            "7"}) {
      CAPTURE(bad);
      const auto r = hosts_of(std::string{"[{name: good}, "} + bad + "]");
      CHECK(r.faults.size() == 1);
      REQUIRE(r.slo.host_applications.size() == 1);
      CHECK(r.slo.host_applications[0].name == "good");
    }
    const auto twice = hosts_of("[{name: a, qos: LS}, {name: a, qos: BE}]");
    CHECK(twice.faults.size() == 1);
    REQUIRE(twice.slo.host_applications.size() == 1);
    CHECK(twice.slo.host_applications[0].qos == "LS");
  }

  TEST_CASE("a refused host application keeps its last good form") {
    NodeSlo last;
    last.host_applications = {{"a", "LS", "", "", ""}};
    CHECK(hosts_of("[{name: a, qos: x}]", &last).slo.host_applications == last.host_applications);
    CHECK(hosts_of("{}", &last).slo.host_applications == last.host_applications);
    CHECK(hosts_of("[]", &last).slo.host_applications.empty());
    CHECK(slo_of("{}", &last).slo.host_applications.empty());
  }

  TEST_CASE("a NodeSLO without a name is an error") {
    CHECK(decode_node_slo(boost::json::value{{"spec", boost::json::object{}}}).has_error());
    CHECK(decode_node_slo(boost::json::value(true)).has_error());
  }
}
