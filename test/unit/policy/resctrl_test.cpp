#include "policy/resctrl.hpp"

#include <doctest/doctest.h>

#include "unit/policy/world.hpp"

using namespace koordlet;
using namespace koordlet::policy;
using namespace koordlet::test;

namespace {

ResctrlState machine() {
  ResctrlState out;
  out.l3_ids = {0, 1};
  out.mb_ids = {0, 1};
  out.cbm_mask = 0x7ff;
  out.groups = {"BE"};
  return out;
}

EffectiveConfig be_on() {
  EffectiveConfig out;
  out.resctrl.be.enable = true;
  return out;
}

std::vector<std::string> lines(const ResctrlState& state, const EffectiveConfig& config) {
  World world{4000};
  auto snap = world.snap();
  snap.resctrl = std::make_shared<const ResctrlState>(state);
  std::vector<std::string> out;
  for (const auto& p : Resctrl::decide(snap, config, {}).proposals) {
    out.push_back(to_string(p.key) + " = " + to_string(p.value));
  }
  return out;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_SUITE("policy/resctrl") {
  TEST_CASE("RES-1: masks of ranges") {
    CHECK(way_mask(0x7ff, 1, 0, 30) == 0xf);
    CHECK(way_mask(0x7ff, 1, 20, 80) == 0x1f8);
    CHECK(way_mask(0x7ff, 1, 50, 100) == 0x7c0);
    CHECK(way_mask(0x7ff, 1, 0, 100) == 0x7ff);
    CHECK(way_mask(0x7ff, 1, 10, 50) == 0x3c);
    CHECK(way_mask(0x3ff, 1, 10, 80) == 0xfe);
    CHECK(way_mask(0xfffff, 1, 0, 30) == 0x3f);
    CHECK(way_mask(0xfff, 1, 0, 10) == 0x3);
  }

  TEST_CASE("a mask narrower than the machine takes grows to min_cbm_bits, never past the top") {
    CHECK(way_mask(0x7ff, 1, 1, 5) == 0x2);
    CHECK(way_mask(0x7ff, 2, 1, 5) == 0x6);
    CHECK(way_mask(0x7ff, 2, 99, 100) == 0x600);
    CHECK(way_mask(0x1, 4, 0, 30) == 0x1);
  }

  TEST_CASE("no mask: gaps in the machine's own, no ways, a range that is none") {
    CHECK_FALSE(way_mask(0x7fd, 1, 0, 30));
    CHECK_FALSE(way_mask(0, 1, 0, 30));
    CHECK_FALSE(way_mask(0x7ff, 1, 30, 30));
    CHECK_FALSE(way_mask(0x7ff, 1, -1, 30));
    CHECK_FALSE(way_mask(0x7ff, 1, 0, 101));
    CHECK_FALSE(way_mask(~std::uint64_t{0}, 1, 0, 30));
  }

  TEST_CASE("RES-2: bandwidth on Intel in steps, on AMD in 1/8 GB/s") {
    auto m = machine();
    CHECK(bandwidth(m, 85) == 90);
    CHECK(bandwidth(m, 100) == 100);
    CHECK(bandwidth(m, 5) == 10);
    m.bandwidth_gran = 20;
    m.min_bandwidth = 30;
    CHECK(bandwidth(m, 85) == 100);
    CHECK(bandwidth(m, 5) == 30);
    m.amd = true;
    CHECK(bandwidth(m, 50) == 80);
    CHECK(bandwidth(m, 30) == 48);
    CHECK(bandwidth(m, 100) == 2048);
    CHECK(bandwidth(m, 1) == 1);
    CHECK_FALSE(bandwidth(m, 0));
    m.megabytes = true;
    CHECK_FALSE(bandwidth(m, 50));
  }

  TEST_CASE("pitfall 104: ids come from the file") {
    auto m = machine();
    m.l3_ids = {0, 8};
    m.mb_ids = {};
    m.cbm_mask = 0xfff;
    auto config = be_on();
    config.resctrl.be.end_percent = 66;
    CHECK(lines(m, config) == Lines{"/BE resctrl.L3 0 = 255", "/BE resctrl.L3 8 = 255"});
  }

  TEST_CASE("code and data apart, bandwidth alone, cache alone") {
    auto m = machine();
    m.l3_ids = {0};
    m.mb_ids = {0};
    m.cdp = true;
    CHECK(lines(m, be_on()) == Lines{"/BE resctrl.L3CODE 0 = 15",
                                     "/BE resctrl.L3DATA 0 = 15",
                                     "/BE resctrl.MB 0 = 100"});
    m.l3_ids.clear();
    CHECK(lines(m, be_on()) == Lines{"/BE resctrl.MB 0 = 100"});
    m = machine();
    m.mb_ids.clear();
    CHECK(lines(m, be_on()).size() == 2);
  }

  TEST_CASE("no group yet, class off, no resctrl: nothing") {
    auto m = machine();
    m.groups.clear();
    CHECK(lines(m, be_on()).empty());
    CHECK(lines(machine(), {}).empty());
    World world{4000};
    CHECK(Resctrl::decide(world.snap(), be_on(), {}).proposals.empty());
  }

  TEST_CASE("pods by class; off, own group, SYSTEM and finished ones are in none") {
    World world{4000};
    auto be = be_pod("be", 1000);
    be.qos = QosClass::kBe;
    auto lse = be_pod("lse", 1000);
    lse.qos = QosClass::kLse;
    auto plain = be_pod("plain", std::nullopt);
    plain.kube_qos = KubeQos::kBurstable;
    auto own = be_pod("own", 1000);
    own.annotations["node.koordinator.sh/resctrl"] = "{}";
    auto system = be_pod("system", 1000);
    system.qos = QosClass::kSystem;
    auto done = be_pod("done", 1000);
    done.phase = PodPhase::kSucceeded;
    world.pods = {be, lse, plain, own, system, done};
    auto config = be_on().resctrl;
    config.lsr.enable = true;
    const auto wish = resctrl_wish(*world.snap().state, config);
    REQUIRE(wish.groups.size() == 2);
    CHECK(wish.groups.at("BE") == std::vector{be.cgroup});
    CHECK(wish.groups.at("LSR") == std::vector{lse.cgroup});
    config.ls.enable = true;
    CHECK(resctrl_wish(*world.snap().state, config).groups.at("LS") == std::vector{plain.cgroup});
    CHECK(resctrl_wish(*world.snap().state, {}).groups.empty());
  }
}
