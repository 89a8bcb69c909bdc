#include "policy/hands_off.hpp"

#include <doctest/doctest.h>

#include "policy/identity.hpp"
#include "policy/pressure.hpp"
#include "policy/resctrl.hpp"
#include "world.hpp"

using namespace koordlet;
using namespace koordlet::policy;
using namespace koordlet::test;

namespace {

Pod marked(Pod pod, const std::string& value = "true") {
  pod.annotations[std::string{kHandsOffAnnotation}] = value;
  return pod;
}

Proposal cap(const CgroupPath& path, CgroupFile file = CgroupFile::kCpuMax) {
  Proposal p;
  p.key = {path, file};
  p.value = quota(100'000);
  p.plugin = "pressure";
  return p;
}

}  // namespace

TEST_SUITE("policy/hands_off") {
  TEST_CASE("the annotation counts only as \"true\" and only in a listed namespace") {
    const auto pod = marked(be_pod("a", 1000));
    CHECK(hands_off(pod, {"default"}));
    CHECK(hands_off(pod, {"kube-system", "default"}));
    CHECK_FALSE(hands_off(pod, {}));
    CHECK_FALSE(hands_off(pod, {"other"}));
    CHECK_FALSE(hands_off(marked(pod, "True"), {"default"}));
    CHECK_FALSE(hands_off(marked(pod, ""), {"default"}));
    CHECK_FALSE(hands_off(be_pod("a", 1000), {"default"}));
  }
  TEST_CASE("what is said of the annotation names what is missing") {
    const auto pod = marked(be_pod("a", 1000));
    CHECK(hands_off_text(be_pod("a", 1000), {"default"}) == "");
    CHECK(hands_off_text(pod, {"default"}).find("hands off: ") == 0);
    CHECK(hands_off_text(pod, {}).find("qos.hands_off_namespaces does not list it") !=
          std::string::npos);
    CHECK(hands_off_text(marked(pod, "yes"), {"default"}).find("is 'yes': expected \"true\"") !=
          std::string::npos);
  }
  TEST_CASE("proposals of the pod and its containers go, those of its neighbours and class stay") {
    World world{100'000};
    world.pods = {marked(be_pod("a", 1000)), be_pod("a-2", 1000)};
    const auto pod = world.pods[0].cgroup;
    std::vector<Proposal> all{cap(kBeRoot),
                              cap(pod),
                              cap(pod.child("c")),
                              cap(pod.child("c").child("deep"), CgroupFile::kMemoryHigh),
                              cap(world.pods[1].cgroup)};
    auto kept = all;
    drop_hands_off(kept, *world.snap().state, {});
    CHECK(kept == all);
    drop_hands_off(kept, *world.snap().state, {"default"});
    CHECK(kept == std::vector{all[0], all[4]});
  }
  TEST_CASE("a marked pod whose cgroup is not known takes nothing from the others") {
    World world{100'000};
    world.pods = {marked(be_pod("a", 1000)), be_pod("b", 1000)};
    world.pods[0].cgroup = CgroupPath{};
    std::vector<Proposal> all{cap(kBeRoot), cap(world.pods[1].cgroup)};
    const auto before = all;
    drop_hands_off(all, *world.snap().state, {"default"});
    CHECK(all == before);
  }
  TEST_CASE("a line of a file that is no cgroup's stays, whatever its name") {
    World world{100'000};
    world.pods = {marked(be_pod("a", 1000))};
    auto lines = std::vector{cap(world.pods[0].cgroup, CgroupFile::kResctrlL3)};
    lines[0].value = Number{3};
    drop_hands_off(lines, *world.snap().state, {"default"});
    CHECK(lines.size() == 1);
  }
  TEST_CASE("pressure leaves the BE root alone: the sum of its pods' caps has no room for it") {
    World world{100'000};
    world.pods = {marked(be_pod("a", 1000)), be_pod("b", 4000)};
    EffectiveConfig config;
    world.sample(85'000, 0);
    auto all = Pressure::decide(world.snap(), config, {}).proposals;
    CHECK(wish(all, kBeRoot) == "150000 100000");
    config.hands_off_namespaces = {"default"};
    all = Pressure::decide(world.snap(), config, {}).proposals;
    CHECK(wish(all, kBeRoot) == "");
    CHECK(wish(all, world.pods[0].cgroup) == "");
    CHECK(wish(all, world.pods[1].cgroup) == "120000 100000");
  }
  TEST_CASE("neither cookies nor cache groups take its tasks") {
    World world{100'000};
    world.pods = {marked(be_pod("a", 1000)), be_pod("b", 1000)};
    EffectiveConfig config;
    config.identity.enable = config.identity.core_sched = true;
    config.resctrl.be.enable = true;
    config.hands_off_namespaces = {"default"};
    const auto state = world.snap().state;
    CHECK(core_sched_wish(*state, config) == std::vector{world.pods[1].cgroup});
    CHECK(resctrl_wish(*state, config.resctrl, config.hands_off_namespaces).groups.at("BE") ==
          std::vector{world.pods[1].cgroup});
  }
}
