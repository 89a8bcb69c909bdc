#include "policy/be_progress.hpp"

#include <doctest/doctest.h>

#include "policy/pressure.hpp"
#include "world.hpp"

using namespace koordlet;
using namespace koordlet::policy;
using namespace koordlet::test;
using std::chrono::seconds;

namespace {

/// One BE pod "a" that asked for 4 cores, a sample each 10 s.
struct Rig {
  World world{100'000};
  EffectiveConfig config;
  StarvationState state;
  std::map<std::string, PodUsage> usage;
  std::vector<LsSignal> ls;

  Rig() { world.pods = {be_pod("a", 4000)}; }
  void step(std::int64_t used, int throttled = 900, std::int64_t node = 30'000) {
    world.wait(seconds{10});
    world.sample(node, used);
    auto& u = usage["a"];
    u.at = world.now;
    u.cpu = MilliCpu{used};
    u.throttled = Permille{throttled};
    state = starvation(snap(), config, std::move(state));
  }
  Snapshot snap() const {
    auto out = world.snap();
    out.pods = usage;
    out.ls_signals = ls;
    return out;
  }
  std::vector<Proposal> caps(std::int64_t pod_us, std::int64_t root_us) const {
    std::vector<Proposal> out(2);
    out[0].key = {kBeRoot, CgroupFile::kCpuMax};
    out[0].value = quota(root_us);
    out[1].key = {kBeRoot.child("poda"), CgroupFile::kCpuMax};
    out[1].value = quota(pod_us);
    raise_to_floor(out, snap(), config, state);
    return out;
  }
};

}  // namespace

TEST_SUITE("policy/be_progress") {
  TEST_CASE("share of the request, throttling and waiting: unknown is not zero") {
    PodUsage u;
    CHECK(be_progress(be_pod("a", 4000), nullptr) == BeProgress{});
    CHECK(be_progress(be_pod("a", 4000), &u) == BeProgress{});
    u.cpu = MilliCpu{1000};
    u.throttled = Permille{400};
    u.stalls.cpu = StallShare{62.5, 1};
    const auto p = be_progress(be_pod("a", 4000), &u);
    CHECK(p.share == Permille{250});
    CHECK(p.throttled == Permille{400});
    CHECK(p.wait_percent == 62.5);
    CHECK_FALSE(be_progress(be_pod("a", std::nullopt), &u).share);
    CHECK_FALSE(be_progress(be_pod("a", 0), &u).share);
  }
  TEST_CASE("the class: all that state a request and were measured, weighed by it") {
    World world{100'000};
    world.pods = {be_pod("a", 4000), be_pod("b", 1000), be_pod("c", std::nullopt), be_pod("d", 9)};
    std::map<std::string, PodUsage> usage;
    CHECK_FALSE(class_progress(*world.snap().state, usage));
    usage["a"].cpu = MilliCpu{1000};
    usage["b"].cpu = MilliCpu{500};
    usage["c"].cpu = MilliCpu{5000};
    usage["d"].memory = Bytes{1};
    CHECK(class_progress(*world.snap().state, usage) == Permille{300});
  }
}

TEST_SUITE("policy/starvation") {
  TEST_CASE("under 5 % of its request and throttled for 60 s: starving, with a floor of 10 %") {
    Rig rig;
    for (int i = 0; i < 6; ++i) rig.step(199);
    CHECK(rig.state.starving.empty());
    CHECK(rig.state.floor == MilliCpu{});
    rig.step(199);  // 60 s after the first sample
    CHECK(rig.state.starving == std::vector<std::string>{"a"});
    CHECK(rig.state.floor == MilliCpu{400});
    CHECK(rig.state.why == "1 pods under 5 % of their request for 60 s: floor 400m of 400m");
    const auto caps = rig.caps(10'000, 10'000);
    CHECK(wish(caps, kBeRoot.child("poda")) == "40000 100000");
    CHECK(wish(caps, kBeRoot) == "40000 100000");
    CHECK(caps[1].reason.find("not under 400m: it starves") != std::string::npos);
  }
  TEST_CASE("5 % itself is not under it, and one good sample in between starts anew") {
    Rig rig;
    for (int i = 0; i < 10; ++i) rig.step(200);
    CHECK(rig.state.pods.empty());
    for (int i = 0; i < 6; ++i) rig.step(100);
    rig.step(200);
    for (int i = 0; i < 6; ++i) rig.step(100);
    CHECK(rig.state.starving.empty());
  }
  TEST_CASE("who wants nothing does not starve, nor does who is not known to want") {
    Rig rig;
    for (int i = 0; i < 10; ++i) rig.step(0, 0);
    CHECK(rig.state.pods.empty());
    for (int i = 0; i < 10; ++i) {
      rig.world.wait(seconds{10});
      rig.usage["a"].at = rig.world.now;
      rig.usage["a"].throttled.reset();
      rig.state = starvation(rig.snap(), rig.config, rig.state);
    }
    CHECK(rig.state.pods.empty());
    for (int i = 0; i < 8; ++i) {  // not throttled, but runnable
      rig.usage["a"].stalls.cpu = StallShare{80, 80};
      rig.step(0, 0);
    }
    CHECK(rig.state.starving.size() == 1);
  }
  TEST_CASE(
      "it ends 5 points above its floor, which alone does not end it; one sample counts once") {
    Rig rig;
    for (int i = 0; i < 8; ++i) rig.step(100);
    rig.step(400);  // what the floor gives
    CHECK(rig.state.floor == MilliCpu{400});
    rig.step(599);
    CHECK(rig.state.starving.size() == 1);
    rig.step(600);
    CHECK(rig.state.starving.empty());
    rig.step(100);
    for (int i = 0; i < 300; ++i) {
      rig.world.wait(seconds{1});
      rig.state = starvation(rig.snap(), rig.config, rig.state);
    }
    CHECK(rig.state.starving.empty());
    CHECK(rig.state.pods.size() == 1);
  }
  TEST_CASE("no floor while the node is used to 95 %, or LS stalls as at HIGH: alarm alone") {
    Rig rig;
    for (int i = 0; i < 8; ++i) rig.step(100, 900, 94'900);
    CHECK(rig.state.starving.size() == 1);
    CHECK(rig.state.floor == MilliCpu{});
    CHECK(rig.state.why.find("no floor for 1 starving pods: the node is used to 95 %") == 0);
    CHECK(wish(rig.caps(10'000, 10'000), kBeRoot) == "10000 100000");
    LsSignal s;
    s.at = rig.world.now + seconds{5};
    s.cpu_full_percent = 15;
    rig.ls = {s};
    rig.step(100);
    CHECK(rig.state.floor == MilliCpu{});
    CHECK(rig.state.why.find("stalls as at HIGH") != std::string::npos);
    rig.ls[0].throttled = Permille{100};  // of its own making
    rig.step(100);
    CHECK(rig.state.floor == MilliCpu{400});
  }
  TEST_CASE("the floor never passes what LS and system leave below HIGH") {
    Rig rig;
    for (int i = 0; i < 8; ++i) rig.step(100, 900, 79'900);
    CHECK(rig.state.floor == MilliCpu{100});
    const auto caps = rig.caps(5'000, 5'000);
    CHECK(wish(caps, kBeRoot.child("poda")) == "10000 100000");
    CHECK(wish(caps, kBeRoot) == "10000 100000");
    CHECK(wish(rig.caps(5'000, 50'000), kBeRoot) == "50000 100000");  // nothing is lowered
  }
  TEST_CASE("switched off, off by NodeSLO, unlimited, or no cap: nothing is raised") {
    Rig rig;
    for (int i = 0; i < 8; ++i) rig.step(100);
    std::vector<Proposal> all(1);
    all[0].key = {kBeRoot.child("poda"), CgroupFile::kCpuMax};
    all[0].value = CpuMax{};
    auto same = all;
    raise_to_floor(same, rig.snap(), rig.config, rig.state);
    CHECK(same == all);
    all[0].value = quota(1000);
    all[0].role = Role::kBase;
    same = all;
    raise_to_floor(same, rig.snap(), rig.config, rig.state);
    CHECK(same == all);
    rig.config.starvation.enable = false;
    CHECK(starvation(rig.snap(), rig.config, rig.state) == StarvationState{});
  }
}
