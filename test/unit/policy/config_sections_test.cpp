#include "policy/config_sections.hpp"

#include <algorithm>

#include <doctest/doctest.h>

using namespace koordlet;
using namespace koordlet::policy;

namespace {

bool has(const std::vector<std::string>& lines, const std::string& line) {
  return std::find(lines.begin(), lines.end(), line) != lines.end();
}

}  // namespace

TEST_SUITE("policy/config burst and memory") {
  TEST_CASE("a node on its own: burst auto at 50 %, gate 60, and the built-in memory classes") {
    const auto e = resolve({}, nullptr, nullptr);
    CHECK(e.burst.enable == true);
    CHECK(e.burst.burst_percent == 50);
    CHECK(e.burst.gate_percent == 60);
    CHECK(e.memory_qos.lsr.values == built_in_lsr());
    CHECK(e.memory_qos.ls.values.low_percent == 50);
    CHECK(e.memory_qos.be.values.throttling_percent == 80);
    CHECK_FALSE(e.memory_qos.system.enable);
    CHECK(e.memory_soften.enable == false);
  }
  TEST_CASE("a NodeSLO that does not speak of them, profile koordinator, or policy off: off") {
    const NodeSlo slo;
    QosConfig toml;
    for (int i = 0; i < 3; ++i) {
      toml.pressure_profile = i != 1;
      toml.local_without_nodeslo = i != 2;
      const auto e = resolve(toml, i == 0 ? &slo : nullptr, nullptr);
      CHECK(e.burst.enable == false);
      CHECK_FALSE(e.memory_qos.any());
    }
  }
  TEST_CASE("NodeSLO field present > TOML > built-in, each section by its own switch") {
    QosConfig toml;
    toml.burst.quota_percent = 200;
    toml.memory_qos.ls_share.low_percent = 30;
    NodeSlo slo;
    slo.threshold.emplace().enable = false;  // suppression off does not switch these off
    slo.burst = CpuBurstStrategy{BurstPolicy::kCpuBurstOnly, 70, {}, {}, {}};
    slo.memory_qos.ls.emplace().enable = true;
    slo.memory_qos.ls->min_percent = 10;
    slo.memory_qos.be.emplace().enable = false;
    const auto e = resolve(toml, &slo, nullptr);
    CHECK(e.burst.enable == true);
    CHECK(e.burst.policy == BurstPolicy::kCpuBurstOnly);
    CHECK(e.burst.burst_percent == 70);
    CHECK(e.burst.quota_percent == 200);
    CHECK(e.memory_qos.ls.values.min_percent == 10);
    CHECK(e.memory_qos.ls.values.low_percent == 30);
    CHECK_FALSE(e.memory_qos.ls.values.throttling_percent);
    CHECK_FALSE(e.memory_qos.be.enable);
    CHECK_FALSE(e.memory_qos.lsr.enable);
  }
  TEST_CASE("burstGatePercent out of range keeps the last good one and is named") {
    NodeSlo slo;
    slo.pressure.emplace().burst_gate_percent = 40;
    const auto good = resolve({}, &slo, nullptr);
    CHECK(good.burst.gate_percent == 40);
    slo.pressure->burst_gate_percent = 0;
    const auto e = resolve({}, &slo, &good);
    CHECK(e.burst.gate_percent == 40);
    CHECK(has(e.faults, "spec.extensions.qosPressure.burstGatePercent: 0: expected 1 to 100"));
  }
  TEST_CASE("softening follows eviction unless TOML says otherwise") {
    QosConfig toml;
    toml.memory_evict.enable = true;
    CHECK(resolve(toml, nullptr, nullptr).memory_soften.enable == true);
    toml.memory_soften.enable = false;
    CHECK(resolve(toml, nullptr, nullptr).memory_soften.enable == false);
  }
  TEST_CASE("faults of TOML carry path, value and what was expected") {
    QosConfig c;
    c.burst.period_seconds = 0;
    c.burst.quota_percent = 99;
    c.memory_qos.be_share.throttling_percent = 101;
    c.memory_soften.lift_points = 5;
    const auto faults = validate(c);
    CHECK(faults.size() == 4);
    CHECK(has(faults, "qos.burst.period_seconds: 0: expected -1 (no budget) or 1 to 86400"));
    CHECK(has(faults, "qos.burst.quota_percent: 99: expected 100 to 10000"));
    CHECK(has(faults, "qos.memory_qos.be_throttling_percent: 101: expected 0 to 100"));
    CHECK(has(faults,
              "qos.memory_soften.lift_points: 5: expected more than "
              "qos.memory_soften.start_points (5)"));
  }

  TEST_CASE("softening that leaves no room under the eviction threshold is a fault, if it is on") {
    QosConfig c;
    c.memory_evict.threshold_percent = 20;
    c.memory_soften.lift_points = 20;
    CHECK(validate(c).empty());
    c.memory_evict.enable = true;
    const auto faults = validate(c);
    REQUIRE(faults.size() == 1);
    CHECK(faults[0] ==
          "qos.memory_soften.lift_points: 20: expected less than "
          "qos.memory_evict.threshold_percent (20)");
    c.memory_soften.lift_points = 19;
    CHECK(validate(c).empty());
    c.memory_soften.lift_points = 21;
    c.memory_soften.enable = false;
    CHECK(validate(c).empty());
  }
}
