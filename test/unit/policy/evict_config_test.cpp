#include <algorithm>

#include <doctest/doctest.h>

#include "policy/config.hpp"

using namespace koordlet;
using namespace koordlet::policy;

namespace {

bool has(const std::vector<std::string>& lines, const std::string& line) {
  return std::find(lines.begin(), lines.end(), line) != lines.end();
}

NodeSlo on() {
  NodeSlo slo;
  slo.threshold.emplace().enable = true;
  return slo;
}

int rules_on(const EffectiveConfig& e) {
  return int{e.memory_evict.enable} + int{e.memory_evict.by_priority} + int{e.cpu_evict.enable} +
         int{e.be_cpu_evict.enable} + int{e.cpu_allocatable_evict.enable} +
         int{e.memory_allocatable_evict.enable};
}

constexpr const char* kSection = "spec.resourceUsedThresholdWithBE.";

}  // namespace

TEST_SUITE("policy/config eviction") {
  TEST_CASE("all rules are off; enable alone switches on the one that needs no number") {
    CHECK(rules_on(resolve(QosConfig{}, nullptr, nullptr)) == 0);
    const auto slo = on();
    const auto e = resolve(QosConfig{}, &slo, nullptr);
    CHECK(rules_on(e) == 1);
    CHECK(e.memory_evict.enable);
    CHECK_FALSE(e.memory_evict.whole_percent);
  }

  TEST_CASE("a rule is on when all fields that it needs are there") {
    auto slo = on();
    auto& e = slo.threshold->evict;
    e.cpu_be_satisfaction_lower_percent = 45;
    e.cpu_allocatable_threshold_percent = 120;
    CHECK(rules_on(resolve(QosConfig{}, &slo, nullptr)) == 1);
    e.cpu_be_satisfaction_upper_percent = 70;
    e.cpu_allocatable_lower_percent = 100;
    e.allocatable_priority_threshold = 5999;
    e.cpu_threshold_percent = 85;
    e.priority_threshold = 5999;
    const auto got = resolve(QosConfig{}, &slo, nullptr);
    CHECK(got.faults.empty());
    CHECK(rules_on(got) == 5);
    CHECK(got.cpu_evict.whole_percent);
    CHECK(got.cpu_evict.lower() == 83);
    CHECK(got.be_cpu_evict.upper_percent == 70);
    slo.threshold->enable = false;
    CHECK(resolve(QosConfig{}, &slo, nullptr).off);
  }

  TEST_CASE("a rule without its priority threshold is off, and says so") {
    auto slo = on();
    slo.threshold->evict.cpu_threshold_percent = 85;
    const auto e = resolve(QosConfig{}, &slo, nullptr);
    CHECK_FALSE(e.cpu_evict.enable);
    REQUIRE(e.faults.size() == 1);
    CHECK(e.faults[0] == std::string{kSection} +
                             "evictEnabledPriorityThreshold: absent: expected a priority; "
                             "cpu_evict is off");
  }

  TEST_CASE("pairs that contradict each other switch their rule off, and say so") {
    auto slo = on();
    auto& t = slo.threshold->evict;
    t.cpu_be_satisfaction_lower_percent = 50;
    t.cpu_be_satisfaction_upper_percent = 49;
    t.priority_threshold = t.allocatable_priority_threshold = 5999;
    t.cpu_threshold_percent = t.cpu_lower_percent = 80;
    t.memory_allocatable_threshold_percent = t.memory_allocatable_lower_percent = 100;
    const auto e = resolve(QosConfig{}, &slo, nullptr);
    CHECK(rules_on(e) == 2);
    CHECK(has(e.faults,
              std::string{kSection} +
                  "cpuEvictBESatisfactionUpperPercent: 49: expected at least "
                  "cpuEvictBESatisfactionLowerPercent (50); be_cpu_evict is off"));
    CHECK(has(e.faults,
              std::string{kSection} +
                  "cpuEvictLowerPercent: 80: expected less than cpuEvictThresholdPercent (80); "
                  "cpu_evict is off"));
    CHECK(has(e.faults,
              std::string{kSection} +
                  "memoryAllocatableEvictLowerPercent: 100: expected less than "
                  "memoryAllocatableEvictThresholdPercent (100); memory_allocatable_evict is off"));
  }

  TEST_CASE("a number out of its range keeps the last good one") {
    auto slo = on();
    slo.threshold->evict.cpu_time_window_seconds = 120;
    const auto first = resolve(QosConfig{}, &slo, nullptr);
    slo.threshold->evict.cpu_time_window_seconds = 3601;
    const auto second = resolve(QosConfig{}, &slo, &first);
    CHECK(second.evict.cpu_window_seconds == 120);
    CHECK(has(second.faults,
              std::string{kSection} + "cpuEvictTimeWindowSeconds: 3601: expected 1 to 3600"));
  }

  TEST_CASE("a threshold from NodeSLO counts in whole percents, one from TOML exactly") {
    auto slo = on();
    slo.threshold->memory_evict_threshold_percent = 75;
    CHECK(resolve(QosConfig{}, &slo, nullptr).memory_evict.whole_percent);
    QosConfig toml;
    toml.memory_evict.enable = true;
    CHECK_FALSE(resolve(toml, nullptr, nullptr).memory_evict.whole_percent);
  }

  TEST_CASE("faults of the TOML values, each with path, value and expectation") {
    QosConfig c;
    c.cpu_evict.enable = c.memory_evict.by_priority = c.cpu_allocatable_evict.enable = true;
    c.cpu_evict.lower_percent = 95;
    c.be_cpu_evict.upper_percent = 29;
    c.memory_allocatable_evict.lower_percent = 110;
    c.evict.cpu_window_seconds = 0;
    c.evict.priority_threshold = std::nullopt;
    const auto faults = validate(c);
    for (const char* line :
         {"qos.cpu_evict.enable: true: expected qos.evict.priority_threshold to be a priority",
          "qos.memory_evict.by_priority: true: expected qos.evict.priority_threshold to be a "
          "priority",
          "qos.cpu_allocatable_evict.enable: true: expected "
          "qos.evict.allocatable_priority_threshold to be a priority",
          "qos.cpu_evict.lower_percent: 95: expected less than qos.cpu_evict.threshold_percent "
          "(90)",
          "qos.be_cpu_evict.upper_percent: 29: expected at least qos.be_cpu_evict.lower_percent "
          "(30)",
          "qos.memory_allocatable_evict.lower_percent: 110: expected less than "
          "qos.memory_allocatable_evict.threshold_percent (110)",
          "qos.evict.cpu_window_seconds: 0: expected 1 to 3600"}) {
      CAPTURE(line);
      CHECK(has(faults, line));
    }
    CHECK(faults.size() == 7);
  }
}
