#include "policy/sys_reconcile.hpp"

#include <doctest/doctest.h>

#include "unit/policy/world.hpp"

using namespace koordlet;
using namespace koordlet::policy;
using namespace koordlet::test;

namespace {

constexpr std::int64_t kGi = std::int64_t{1} << 30;

Decision<SysReconcile::State> decide(std::int64_t gibibytes, const SystemStrategy& system) {
  World world{4000};
  world.node.memory_capacity = Bytes{gibibytes * kGi};
  EffectiveConfig config;
  config.system = system;
  return SysReconcile::decide(world.snap(), config, {});
}

SystemStrategy factor(int f) {
  SystemStrategy out;
  out.min_free_kbytes_factor = f;
  return out;
}

}  // namespace

TEST_SUITE("policy/sys_reconcile") {
  TEST_CASE("SYS-1: 256 Gi, factor 100") {
    const auto got = decide(256, factor(100));
    CHECK(wish(got.proposals, {}, CgroupFile::kMinFreeKbytes) == "2684354");
    CHECK(got.state.faults.empty());
  }

  TEST_CASE("SYS-2: 2048 Gi, factor 100 is above the range: one fault, no wish") {
    const auto got = decide(2048, factor(100));
    CHECK(got.proposals.empty());
    REQUIRE(got.state.faults.size() == 1);
    CHECK(got.state.faults[0].find("21474836: expected 10240 to 10485760") != std::string::npos);
  }

  TEST_CASE("SYS-3: a small node, a low watermark factor, and features") {
    CHECK(decide(1, factor(1)).proposals.empty());
    SystemStrategy s;
    s.watermark_scale_factor = 5;
    auto got = decide(1, s);
    CHECK(got.proposals.empty());
    CHECK(got.state.faults.size() == 1);
    s.watermark_scale_factor = 150;
    s.sched_features = {{"A", true}, {"B", true}};
    got = decide(1, s);
    CHECK(wish(got.proposals, {}, CgroupFile::kWatermarkScaleFactor) == "150");
    CHECK(got.proposals.size() == 3);
    CHECK(got.proposals[1].key.item == "A");
  }

  TEST_CASE("memory of the node unknown: unknown is not zero") {
    CHECK(decide(0, factor(100)).proposals.empty());
    CHECK(decide(0, factor(100)).state.faults.empty());
  }

  TEST_CASE("the largest factor does not overflow") {
    CHECK(decide(1 << 20, factor(2'147'483'647)).state.faults.size() == 1);
  }

  TEST_CASE("every field that is set is one wish, and nothing else") {
    SystemStrategy s;
    s.memcg_reap_background = true;
    s.group_identity_enabled = false;
    s.idle_saver_wmark = 4'000'000;
    s.page_cache_limit_enabled = true;
    const auto got = decide(4, s).proposals;
    CHECK(got.size() == 4);
    CHECK(wish(got, {}, CgroupFile::kMemcgReapBackground) == "1");
    CHECK(wish(got, {}, CgroupFile::kGroupIdentityEnabled) == "0");
    CHECK(wish(got, {}, CgroupFile::kIdleSaverWmark) == "4000000");
    CHECK(decide(4, {}).proposals.empty());
  }
}
