#include <doctest/doctest.h>

#include "policy/config.hpp"

using namespace koordlet;
using namespace koordlet::policy;

namespace {

NodeSlo with_off() {
  NodeSlo slo;
  slo.threshold = ThresholdStrategy{};
  slo.threshold->enable = false;
  return slo;
}

}  // namespace

TEST_SUITE("policy/config levers") {
  TEST_CASE("nothing is on by itself") {
    const auto c = resolve({}, nullptr, nullptr);
    CHECK_FALSE(c.resctrl.any());
    CHECK(c.blkio.be.empty());
    CHECK(c.blkio.root.empty());
    CHECK(c.system == SystemStrategy{});
    CHECK(validate({}).empty());
  }

  TEST_CASE("TOML alone: BE gets 0-30 %, its disks, its machine files") {
    QosConfig toml;
    toml.resctrl.be.enable = true;
    toml.blkio.enable = true;
    toml.blkio.devices = {"vdb", "vdc"};
    toml.blkio.be_read_bps = 7;
    toml.system.sched_features = {"A", "NO_B"};
    const auto c = resolve(toml, nullptr, nullptr);
    CHECK(c.resctrl.be == ResctrlConfig::Class{true, 0, 30, 100});
    REQUIRE(c.blkio.be.size() == 2);
    CHECK(c.blkio.be[1].read_bps == 7);
    CHECK_FALSE(c.blkio.be[1].weight_percent);
    CHECK(c.system.sched_features == std::map<std::string, bool>{{"A", true}, {"B", false}});
  }

  TEST_CASE("NodeSLO goes before TOML, field by field") {
    QosConfig toml;
    toml.resctrl.be.enable = true;
    toml.blkio.enable = true;
    toml.blkio.devices = {"vdb"};
    toml.system.values.watermark_scale_factor = 20;
    NodeSlo slo;
    slo.resctrl.be.enable = false;
    slo.resctrl.ls.enable = true;
    slo.resctrl.ls.end_percent = 80;
    slo.blkio.be.enable = false;
    slo.system.memcg_reap_background = true;
    const auto c = resolve(toml, &slo, nullptr);
    CHECK_FALSE(c.resctrl.be.enable);
    CHECK(c.resctrl.ls == ResctrlConfig::Class{true, 0, 80, 100});
    CHECK(c.blkio.be.empty());
    CHECK(c.system.watermark_scale_factor == 20);
    CHECK(c.system.memcg_reap_background == true);
  }

  TEST_CASE("the master switch silences TOML, not the cluster's own sections") {
    QosConfig toml;
    toml.resctrl.be.enable = true;
    toml.system.values.watermark_scale_factor = 20;
    auto slo = with_off();
    CHECK(resolve(toml, &slo, nullptr).off);
    CHECK_FALSE(resolve(toml, &slo, nullptr).resctrl.any());
    CHECK_FALSE(resolve(toml, &slo, nullptr).system.watermark_scale_factor);
    slo.resctrl.be.enable = true;
    slo.system.watermark_scale_factor = 150;
    const auto c = resolve(toml, &slo, nullptr);
    CHECK(c.resctrl.be.enable);
    CHECK(c.system.watermark_scale_factor == 150);
  }

  TEST_CASE("a range that is none keeps the last good one") {
    NodeSlo slo;
    slo.resctrl.be.enable = true;
    slo.resctrl.be.end_percent = 40;
    const auto good = resolve({}, &slo, nullptr);
    slo.resctrl.be.start_percent = 40;
    const auto c = resolve({}, &slo, &good);
    CHECK(c.resctrl.be == ResctrlConfig::Class{true, 0, 40, 100});
    REQUIRE(c.faults.size() == 1);
    CHECK(c.faults[0] ==
          "spec.resourceQOSStrategy.beClass.resctrlQOS.catRangeStartPercent: 40: expected less "
          "than catRangeEndPercent (40)");
  }

  TEST_CASE("API-1.4 vector 3: a class that is switched off has no priority") {
    NodeSlo slo;
    slo.cpu_qos.be.enable = true;
    slo.cpu_qos.be.sched_idle = true;
    slo.cpu_qos.ls.enable = false;
    slo.cpu_qos.core_sched = true;
    const auto c = resolve({}, &slo, nullptr);
    CHECK(c.identity.bvt_be == -1);
    CHECK(c.identity.bvt_ls == 0);
    CHECK(c.identity.bvt_lsr == 2);
    CHECK(c.identity.be_idle);
    CHECK(c.identity.core_sched);
  }

  TEST_CASE("TOML faults: all of them") {
    QosConfig toml;
    toml.resctrl.be.start_percent = 30;
    toml.blkio.enable = true;
    toml.system.sched_features = {"A", "b"};
    CHECK(validate(toml).size() == 3);
  }

  TEST_CASE("disks by their kernel names: a path, a blank or nothing but dots is a fault") {
    QosConfig c;
    c.blkio.devices = {"sda", "vda1", "nvme0n1p2", "dm-0", "cciss!c0d0"};
    CHECK(validate(c).empty());
    c.blkio.devices = {"/dev/sda", "sd a", "..", std::string(32, 'a')};
    const auto faults = validate(c);
    REQUIRE(faults.size() == 4);
    CHECK(faults[0] ==
          "qos.blkio.devices: '/dev/sda': expected disks or partitions, as sda,nvme0n1p1");
  }
}
