#include "policy/identity.hpp"

#include <doctest/doctest.h>

#include "unit/policy/world.hpp"

using namespace koordlet;
using namespace koordlet::policy;
using namespace koordlet::test;

TEST_SUITE("policy/identity") {
  TEST_CASE("the BE root is behind LS: bvt where the kernel has it, else a low weight") {
    World world{4000};
    EffectiveConfig config;
    auto snap = world.snap();
    auto got = Identity::decide(snap, config, {}).proposals;
    REQUIRE(got.size() == 1);
    CHECK(wish(got, kBeRoot, CgroupFile::kCpuWeight) == "20");
    CHECK(got[0].role == Role::kCap);
    snap.cgroup_version = CgroupVersion::kV2;
    got = Identity::decide(snap, config, {}).proposals;
    REQUIRE(got.size() == 1);
    CHECK(wish(got, kBeRoot, CgroupFile::kCpuWeight) == "2");
    snap.has_bvt = true;
    got = Identity::decide(snap, config, {}).proposals;
    REQUIRE(got.size() == 1);
    CHECK(wish(got, kBeRoot, CgroupFile::kCpuBvt) == "-1");
  }

  TEST_CASE("configured weights are taken, and no signal is needed") {
    World world{4000};
    EffectiveConfig config;
    config.identity.be_shares = 50;
    CHECK(wish(Identity::decide(world.snap(), config, {}).proposals,
               kBeRoot,
               CgroupFile::kCpuWeight) == "50");
  }

  TEST_CASE("off, not enabled, or no BE root: nothing") {
    World world{4000};
    EffectiveConfig config;
    config.off = true;
    CHECK(Identity::decide(world.snap(), config, {}).proposals.empty());
    config.off = false;
    config.identity.enable = false;
    CHECK(Identity::decide(world.snap(), config, {}).proposals.empty());
    config.identity.enable = true;
    world.be_root.reset();
    CHECK(Identity::decide(world.snap(), config, {}).proposals.empty());
  }
}
