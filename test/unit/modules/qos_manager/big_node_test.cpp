#include <algorithm>

#include <doctest/doctest.h>

#include "modules/qos_manager/qos_manager.hpp"
#include "unit/policy/world.hpp"

// The 1024-core case: 400 LS pods x 2 cores, 200 BE pods x 4 cores that ask for 2 each.

using namespace koordlet;
using namespace koordlet::policy;
using namespace koordlet::test;
using std::chrono::seconds;

namespace {

constexpr std::int64_t kCores = 1024;
constexpr std::int64_t kBeDemand = 400;

/// BE uses what its caps allow, LS what BE leaves; whole cores.
struct BigNode {
  World world{kCores * 1000};
  QosManager manager;

  explicit BigNode(bool hold_doubling) : manager{config(hold_doubling)} {
    for (int i = 0; i < 200; ++i) world.pods.push_back(be_pod("be" + std::to_string(i), 4000));
  }
  static QosConfig config(bool hold_doubling) {
    QosConfig c;
    c.pressure.hold_doubling = hold_doubling;
    return c;
  }
  std::int64_t be_used() const {
    std::int64_t cap_us = 0;
    for (const auto& pod : world.pods) {
      const auto it = manager.desired().find({pod.cgroup, CgroupFile::kCpuMax});
      if (it == manager.desired().end()) return kBeDemand;
      cap_us += std::get<CpuMax>(it->second.value).quota.bound()->count();
    }
    return std::min(kBeDemand, cap_us / 100'000);
  }
  /// One sample 10 s later. Returns BE's use in it.
  std::int64_t sample(std::int64_t ls_demand) {
    const std::int64_t be = be_used();
    world.wait(seconds{10});
    world.sample(std::min(ls_demand, kCores - be) * 1000, be * 1000);
    manager.step(world.snap());
    return be;
  }
  std::string pod_cap() const {
    const std::string first = wish(manager.desired(), world.pods.front().cgroup);
    for (const auto& pod : world.pods) {
      if (wish(manager.desired(), pod.cgroup) != first) return "caps differ";
    }
    return first;
  }
};

}  // namespace

TEST_SUITE("qos_manager/1024 cores") {
  TEST_CASE("V-A: 1100 cores of use on 1024 is HIGH, every BE pod at 120000") {
    for (const bool doubling : {false, true}) {
      BigNode node{doubling};
      node.world.sample(700'000, 400'000);
      node.manager.step(node.world.snap());
      const auto& p = node.manager.status().pressure;
      CHECK(p.level == Level::kHigh);
      CHECK(p.factor_permille == 300);
      CHECK(p.use_permyriad == 10'742);  // raw 107.42 %
      CHECK(node.pod_cap() == "120000 100000");
      // 200 x 1.2 cores, which leaves LS 784; the cut of quota is 560 of 800 cores.
      CHECK(wish(node.manager.desired(), kBeRoot) == "24000000 100000");
    }
  }

  TEST_CASE("V-B: what can really be measured, 624 + 400 of 1024, gives the same") {
    for (const bool doubling : {false, true}) {
      BigNode node{doubling};
      CHECK(node.sample(750) == 400);
      CHECK(node.world.signals.kubepods_used == MilliCpu{1'024'000});
      CHECK(node.manager.status().pressure.level == Level::kHigh);
      CHECK(node.pod_cap() == "120000 100000");
    }
  }

  TEST_CASE("V-C: the ramp, row by row, with hold doubling off and on") {
    // Samples are 10 s apart and no level rises after the first: doubling has no say in it.
    struct Row {
      int at;
      std::int64_t ls_demand;
      std::int64_t be_used;
      int use_permyriad;  // cut
      Level level;
      int below_exit;
      int factor;
      const char* quota;
    };
    const Row rows[] = {
        {20, 750, 400, 10'000, Level::kHigh, 0, 300, "120000 100000"},
        {30, 750, 240, 9667, Level::kHigh, 0, 300, "120000 100000"},
        {40, 600, 240, 8203, Level::kHigh, 0, 300, "120000 100000"},
        {50, 500, 240, 7226, Level::kHigh, 1, 300, "120000 100000"},
        {60, 500, 240, 7226, Level::kMid, 0, 300, "120000 100000"},
        {70, 450, 240, 6738, Level::kMid, 0, 400, "160000 100000"},
        {80, 450, 320, 7519, Level::kMid, 0, 400, "160000 100000"},
        {90, 350, 320, 6542, Level::kMid, 0, 500, "200000 100000"},
        {100, 350, 400, 7324, Level::kMid, 0, 500, "200000 100000"},
        {110, 200, 400, 5859, Level::kMid, 1, 600, "240000 100000"},
        {120, 200, 400, 5859, Level::kNone, 0, 700, "280000 100000"},
        {130, 200, 400, 5859, Level::kNone, 0, 800, "320000 100000"},
        {140, 200, 400, 5859, Level::kNone, 0, 900, "360000 100000"},
        {150, 200, 400, 5859, Level::kNone, 0, 1000, "400000 100000"},
    };
    for (const bool doubling : {false, true}) {
      BigNode node{doubling};
      for (const Row& row : rows) {
        CAPTURE(row.at);
        CHECK(node.sample(row.ls_demand) == row.be_used);
        const auto& p = node.manager.status().pressure;
        CHECK(p.use_permyriad == row.use_permyriad);
        CHECK(p.level == row.level);
        CHECK(p.below_exit == row.below_exit);
        CHECK(p.factor_permille == row.factor);
        CHECK(node.pod_cap() == row.quota);
      }
      CHECK(node.manager.status().level_changes == 3);
      CHECK(wish(node.manager.desired(), kBeRoot) == "");  // full factor: no sum on the root
    }
  }

  TEST_CASE(
      "with samples each second a failed step is held back, where the plain rule repeats it") {
    // LS jumps by 100 cores as soon as BE got a step, and falls again: the guard cannot know.
    const auto cuts = [](bool doubling) {
      BigNode node{doubling};
      node.sample(750);
      int cuts = 0;
      for (int i = 0; i < 600; ++i) {
        const int before = node.manager.status().pressure.factor_permille;
        const std::int64_t be = node.be_used();
        node.world.wait(seconds{1});
        node.world.sample((before > 300 ? 600 : 420) * 1000, be * 1000);
        node.manager.step(node.world.snap());
        if (node.manager.status().pressure.factor_permille < before) ++cuts;
      }
      return cuts;
    };
    CHECK(cuts(false) > 100);
    CHECK(cuts(true) <= 7);
  }
}
