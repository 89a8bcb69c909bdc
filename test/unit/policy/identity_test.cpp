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
    CHECK(got.size() == 2);
    CHECK(wish(got, kBeRoot, CgroupFile::kCpuBvt) == "-1");
    CHECK(wish(got, path("kubepods/burstable"), CgroupFile::kCpuBvt) == "2");
  }

  TEST_CASE("group identity of pods and containers by class: LSR and LS 2, BE -1, SYSTEM 0") {
    World world{4000};
    auto ls = outside_pod("ls", 1000);
    ls.qos = QosClass::kLs;
    auto system = outside_pod("sys", 1000);
    system.qos = QosClass::kSystem;
    world.pods = {be_pod("be", 1000), ls, system};
    auto snap = world.snap();
    snap.has_bvt = true;
    const auto bvt = [&](const EffectiveConfig& config, const CgroupPath& at) {
      return wish(Identity::decide(snap, config, {}).proposals, at, CgroupFile::kCpuBvt);
    };
    EffectiveConfig config;
    CHECK(bvt(config, kBeRoot.child("podbe")) == "-1");
    CHECK(bvt(config, kBeRoot.child("podbe").child("be-c")) == "-1");
    CHECK(bvt(config, ls.cgroup) == "2");
    CHECK(bvt(config, system.cgroup) == "0");
    CHECK(bvt(config, path("kubepods")) == "");  // the root of all pods is nobody's
    config.identity.bvt_ls = 0;                  // switched off by NodeSLO
    CHECK(bvt(config, ls.cgroup) == "0");
  }

  TEST_CASE("pitfall 143: with core scheduling all three levels are 0, never -1 or 2") {
    World world{4000};
    world.pods = {be_pod("be", 1000)};
    auto snap = world.snap();
    snap.has_bvt = true;
    EffectiveConfig config;
    config.identity.core_sched = true;
    const auto got = Identity::decide(snap, config, {}).proposals;
    int levels = 0;
    for (const auto& p : got) {
      if (p.key.file != CgroupFile::kCpuBvt) continue;
      ++levels;
      CHECK(to_string(p.value) == "0");
    }
    CHECK(levels == 4);  // two class roots, the pod, its container
    CHECK(wish(got, kBeRoot, CgroupFile::kCpuWeight) == "20");
    CHECK(core_sched_wish(*snap.state, config) == std::vector{kBeRoot.child("podbe")});
    CHECK(core_sched_wish(*snap.state, {}).empty());
  }

  TEST_CASE("cpu.idle: BE pods below the BE root where configured, never the root itself") {
    World world{4000};
    auto done = be_pod("done", 1000);
    done.phase = PodPhase::kFailed;
    world.pods = {be_pod("be", 1000), outside_pod("out", 1000), done};
    EffectiveConfig config;
    const auto idle = [&](const CgroupPath& at) {
      return wish(Identity::decide(world.snap(), config, {}).proposals, at, CgroupFile::kCpuIdle);
    };
    CHECK(idle(kBeRoot.child("podbe")) == "");
    config.identity.be_idle = true;
    CHECK(idle(kBeRoot.child("podbe")) == "1");
    CHECK(idle(kBeRoot.child("poddone")) == "");
    CHECK(idle(path("kubepods/burstable/podout")) == "");
    CHECK(idle(kBeRoot) == "");
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
