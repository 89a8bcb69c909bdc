#include "policy/config.hpp"

#include <algorithm>

#include <doctest/doctest.h>

using namespace koordlet;
using namespace koordlet::policy;

namespace {

bool has(const std::vector<std::string>& lines, const std::string& line) {
  return std::find(lines.begin(), lines.end(), line) != lines.end();
}

NodeSlo threshold_slo(std::optional<bool> enable) {
  NodeSlo slo;
  slo.threshold.emplace().enable = enable;
  return slo;
}

NodeSlo pressure_slo(std::optional<int> mid, std::optional<int> high = std::nullopt) {
  NodeSlo slo;
  slo.pressure.emplace().mid_percent = mid;
  slo.pressure->high_percent = high;
  return slo;
}

}  // namespace

TEST_SUITE("policy/config validate") {
  TEST_CASE("the built-in defaults have no fault") { CHECK(validate(QosConfig{}).empty()); }

  TEST_CASE("every fault is listed, with path, value and what was expected") {
    QosConfig c;
    c.pressure.mid_percent = 0;
    c.pressure.min_quota_us = 999;
    c.pressure.factor_high_permille = 800;
    c.suppress.threshold_percent = 101;
    c.suppress.min_percent = -1;
    c.identity.be_shares = 1;
    c.identity.be_weight = 10'001;
    c.node_stale_seconds = 0;
    const auto faults = validate(c);
    CHECK(has(faults, "qos.pressure.mid_percent: 0: expected 1 to 99"));
    CHECK(has(faults, "qos.pressure.min_quota_us: 999: expected 1000 to 100000"));
    CHECK(has(faults,
              "qos.pressure.factor_high_permille: 800: expected at most "
              "qos.pressure.factor_mid_permille (700)"));
    CHECK(has(faults, "qos.suppress.threshold_percent: 101: expected 0 to 100"));
    CHECK(has(faults, "qos.suppress.min_percent: -1: expected 0 to 100"));
    CHECK(has(faults, "qos.identity.be_shares: 1: expected 2 to 262144"));
    CHECK(has(faults, "qos.identity.be_weight: 10001: expected 1 to 10000"));
    CHECK(has(faults, "qos.node_stale: 0 s: expected 1 s to 1 h"));
    CHECK(faults.size() == 8);
  }

  TEST_CASE("contradicting thresholds are one fault that names both") {
    QosConfig c;
    c.pressure.mid_percent = 90;
    const auto faults = validate(c);
    REQUIRE(faults.size() == 1);
    CHECK(faults[0] ==
          "qos.pressure.mid_percent: 90: expected less than qos.pressure.high_percent (80)");
  }

  TEST_CASE("equal thresholds, an exit mark at zero and a hold range upside down are faults") {
    QosConfig c;
    c.pressure.mid_percent = c.pressure.high_percent = 60;
    CHECK(validate(c).size() == 1);
    c = QosConfig{};
    c.pressure.exit_margin_percent = 65;
    CHECK(validate(c).size() == 1);
    c = QosConfig{};
    c.pressure.max_hold_seconds = 9;
    CHECK(validate(c).size() == 1);
  }

  TEST_CASE("podQuota without the pressure rule is a fault") {
    QosConfig c;
    c.suppress.policy = SuppressPolicy::kPodQuota;
    CHECK(validate(c).empty());
    c.pressure.enable = false;
    CHECK(validate(c).size() == 1);
  }

  TEST_CASE("faults of memory eviction") {
    QosConfig c;
    c.memory_evict.threshold_percent = 0;
    c.memory_evict.lower_percent = 101;
    c.evict.node_max_evictions = 0;
    c.evict.owner_max_evictions = 101;
    c.evict.release_grace_seconds = 601;
    const auto faults = validate(c);
    CHECK(has(faults, "qos.memory_evict.threshold_percent: 0: expected 1 to 100"));
    CHECK(has(faults, "qos.memory_evict.lower_percent: 101: expected 0 to 100"));
    CHECK(has(faults, "qos.evict.node_max_evictions: 0: expected 1 to 1000"));
    CHECK(has(faults, "qos.evict.owner_max_evictions: 101: expected 1 to 100"));
    CHECK(has(faults, "qos.evict.release_grace_seconds: 601: expected 1 to 600"));
    CHECK(faults.size() == 5);
  }

  TEST_CASE("the lower mark must be below the threshold, also as it comes by default") {
    QosConfig c;
    c.memory_evict.lower_percent = 70;
    CHECK(has(validate(c),
              "qos.memory_evict.lower_percent: 70: expected less than "
              "qos.memory_evict.threshold_percent (70)"));
    c.memory_evict.lower_percent = 69;
    CHECK(validate(c).empty());
    c.memory_evict.lower_percent.reset();
    c.memory_evict.threshold_percent = 1;
    CHECK(c.memory_evict.lower() == 0);
    CHECK(validate(c).empty());
  }
}

TEST_SUITE("policy/config resolve") {
  TEST_CASE("no NodeSLO: TOML rules, or nothing runs") {
    QosConfig c;
    c.pressure.mid_percent = 60;
    auto e = resolve(c, nullptr, nullptr);
    CHECK_FALSE(e.off);
    CHECK(e.pressure.enable);
    CHECK(e.pressure.mid_percent == 60);
    CHECK_FALSE(e.suppress.enable);
    c.local_without_nodeslo = false;
    CHECK(resolve(c, nullptr, nullptr).off);
  }

  TEST_CASE("an empty NodeSLO is not the same as none") {
    QosConfig c;
    c.local_without_nodeslo = false;
    const NodeSlo empty;
    CHECK_FALSE(resolve(c, &empty, nullptr).off);
  }

  TEST_CASE("a NodeSLO field that is present wins over TOML, an absent one does not") {
    QosConfig c;
    c.pressure.mid_percent = 50;
    c.suppress.threshold_percent = 55;
    NodeSlo slo = pressure_slo(std::nullopt, 70);
    slo.pressure->relax_guard = false;
    ThresholdStrategy t;
    t.enable = true;
    t.cpu_suppress_threshold_percent = 60;
    t.cpu_suppress_min_percent = 10;
    t.cpu_suppress_policy = SuppressPolicy::kCfsQuota;
    slo.threshold = t;
    const auto e = resolve(c, &slo, nullptr);
    CHECK(e.pressure.mid_percent == 50);
    CHECK(e.pressure.high_percent == 70);
    CHECK_FALSE(e.pressure.relax_guard);
    CHECK(e.suppress.enable);
    CHECK(e.suppress.threshold_percent == 60);
    CHECK(e.suppress.min_percent == 10);
    CHECK(e.suppress.policy == SuppressPolicy::kCfsQuota);
    CHECK(e.faults.empty());
  }

  TEST_CASE("raw enable=false switches everything off, true switches engine A on") {
    const auto off = threshold_slo(false);
    const auto on = threshold_slo(true);
    QosConfig c;
    c.suppress.enable = true;
    CHECK(resolve(c, &off, nullptr).off);
    CHECK_FALSE(resolve(c, &off, nullptr).suppress.enable);
    CHECK(resolve(QosConfig{}, &on, nullptr).suppress.enable);
    CHECK_FALSE(resolve(QosConfig{}, &on, nullptr).off);
  }

  TEST_CASE("policy podQuota: engine A off, engine B on") {
    auto slo = threshold_slo(true);
    slo.threshold->cpu_suppress_policy = SuppressPolicy::kPodQuota;
    QosConfig c;
    c.pressure_profile = false;
    auto e = resolve(c, &slo, nullptr);
    CHECK_FALSE(e.suppress.enable);
    CHECK(e.pressure.enable);
    slo.pressure.emplace().enable = false;  // said outright
    CHECK_FALSE(resolve(c, &slo, nullptr).pressure.enable);
  }

  TEST_CASE("profile koordinator: engine B only when NodeSLO asks for it") {
    QosConfig c;
    c.pressure_profile = false;
    CHECK_FALSE(resolve(c, nullptr, nullptr).pressure.enable);
    auto slo = pressure_slo(std::nullopt);
    CHECK_FALSE(resolve(c, &slo, nullptr).pressure.enable);
    slo.pressure->enable = true;
    CHECK(resolve(c, &slo, nullptr).pressure.enable);
  }

  TEST_CASE("a field out of range keeps its last good value; the others are taken") {
    auto slo = threshold_slo(std::nullopt);
    slo.threshold->cpu_suppress_threshold_percent = 60;
    const auto first = resolve(QosConfig{}, &slo, nullptr);
    slo.threshold->cpu_suppress_threshold_percent = 165;
    slo.threshold->cpu_suppress_min_percent = 20;
    const auto second = resolve(QosConfig{}, &slo, &first);
    CHECK(second.suppress.threshold_percent == 60);
    CHECK(second.suppress.min_percent == 20);
    REQUIRE(second.faults.size() == 1);
    CHECK(second.faults[0] ==
          "spec.resourceUsedThresholdWithBE.cpuSuppressThresholdPercent: 165: expected 0 to 100");
    CHECK(resolve(QosConfig{}, &slo, nullptr).suppress.threshold_percent == 65);
  }

  TEST_CASE("contradicting pressure numbers keep the whole last good group, not the switch") {
    auto slo = pressure_slo(50, 70);
    const auto first = resolve(QosConfig{}, &slo, nullptr);
    slo = pressure_slo(90, 85);
    slo.pressure->enable = false;
    slo.pressure->relax_step_permille = 50;
    const auto second = resolve(QosConfig{}, &slo, &first);
    CHECK(second.pressure.mid_percent == 50);
    CHECK(second.pressure.high_percent == 70);
    CHECK(second.pressure.relax_step_permille == 100);
    CHECK_FALSE(second.pressure.enable);
    REQUIRE(second.faults.size() == 1);
    CHECK(second.faults[0] ==
          "spec.extensions.qosPressure.midPercent: 90: expected less than highPercent (85)");
  }

  TEST_CASE("a NodeSLO mid that meets the TOML high is refused too") {
    const auto slo = pressure_slo(80);
    const auto e = resolve(QosConfig{}, &slo, nullptr);
    CHECK(e.pressure.mid_percent == 65);
    CHECK(e.faults.size() == 1);
  }

  TEST_CASE("faults of an earlier object do not stick") {
    auto slo = pressure_slo(0);
    const auto first = resolve(QosConfig{}, &slo, nullptr);
    CHECK(first.faults.size() == 1);
    slo.pressure->mid_percent = 40;
    const auto second = resolve(QosConfig{}, &slo, &first);
    CHECK(second.faults.empty());
    CHECK(second.pressure.mid_percent == 40);
  }

  TEST_CASE("memory eviction: off by default, on by NodeSLO or TOML") {
    CHECK_FALSE(resolve(QosConfig{}, nullptr, nullptr).memory_evict.enable);
    const NodeSlo empty;
    CHECK_FALSE(resolve(QosConfig{}, &empty, nullptr).memory_evict.enable);
    const auto on = threshold_slo(true), off = threshold_slo(false);
    CHECK(resolve(QosConfig{}, &on, nullptr).memory_evict.enable);
    QosConfig c;
    c.memory_evict.enable = true;
    CHECK(resolve(c, nullptr, nullptr).memory_evict.enable);
    CHECK(resolve(c, &empty, nullptr).memory_evict.enable);
    CHECK_FALSE(resolve(c, &off, nullptr).memory_evict.enable);
  }

  TEST_CASE("memory eviction: NodeSLO numbers win, out of range they do not") {
    auto slo = threshold_slo(true);
    slo.threshold->memory_evict_threshold_percent = 80;
    slo.threshold->memory_evict_lower_percent = 75;
    const auto first = resolve(QosConfig{}, &slo, nullptr);
    CHECK(first.memory_evict.threshold_percent == 80);
    CHECK(first.memory_evict.lower() == 75);
    CHECK(first.faults.empty());
    slo.threshold->memory_evict_threshold_percent = 180;
    const auto second = resolve(QosConfig{}, &slo, &first);
    CHECK(second.memory_evict.threshold_percent == 80);
    REQUIRE(second.faults.size() == 1);
    CHECK(second.faults[0] ==
          "spec.resourceUsedThresholdWithBE.memoryEvictThresholdPercent: 180: expected 0 to 100");
  }

  TEST_CASE("memory eviction: a lower mark that is not lower switches it off, and says so") {
    auto slo = threshold_slo(true);
    slo.threshold->memory_evict_lower_percent = 70;
    const auto e = resolve(QosConfig{}, &slo, nullptr);
    CHECK_FALSE(e.memory_evict.enable);
    CHECK(e.suppress.enable);
    REQUIRE(e.faults.size() == 1);
    CHECK(e.faults[0] ==
          "spec.resourceUsedThresholdWithBE.memoryEvictLowerPercent: 70: expected less than "
          "memoryEvictThresholdPercent (70); memory eviction is off");
    slo.threshold->memory_evict_lower_percent.reset();
    slo.threshold->memory_evict_threshold_percent = 0;
    CHECK_FALSE(resolve(QosConfig{}, &slo, nullptr).memory_evict.enable);
    slo.threshold->enable = false;
    CHECK(resolve(QosConfig{}, &slo, nullptr).faults.empty());
  }

  TEST_CASE("memory eviction: pods without the label count on a node without NodeSLO only") {
    const NodeSlo empty;
    CHECK(resolve(QosConfig{}, nullptr, nullptr).evict.include_kube_best_effort == true);
    CHECK(resolve(QosConfig{}, &empty, nullptr).evict.include_kube_best_effort == false);
    QosConfig c;
    c.evict.include_kube_best_effort = true;
    CHECK(resolve(c, &empty, nullptr).evict.include_kube_best_effort == true);
    c.evict.include_kube_best_effort = false;
    CHECK(resolve(c, nullptr, nullptr).evict.include_kube_best_effort == false);
  }
}
