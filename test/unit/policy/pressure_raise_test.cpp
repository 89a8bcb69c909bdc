#include "policy/pressure_raise.hpp"

#include <doctest/doctest.h>

#include "policy/pressure.hpp"
#include "world.hpp"

using namespace koordlet;
using namespace koordlet::policy;
using namespace koordlet::test;
using std::chrono::seconds;

namespace {

/// A node of 10 cores at 50 % (2 LS, 3 BE), one LS pod, one BE pod of 4 cores. Windows of 10 s.
struct RaiseRig {
  RaiseRig() {
    world.pods.push_back(be_pod("be", 4000));
    config.pressure.hold_doubling = true;
    tick();
  }
  /// One second and a sample of the node.
  void tick(std::int64_t be = 3000) {
    world.wait(seconds{1});
    world.sample(2000, be);
    decide();
  }
  void decide() {
    auto snap = world.snap();
    snap.ls_signals = signals;
    state = Pressure::decide(snap, config, std::move(state)).state;
  }
  /// The window that ends now.
  void feel(std::optional<double> stall,
            std::optional<int> degree = std::nullopt,
            std::optional<int> throttled = std::nullopt) {
    LsSignal s;
    s.uid = "web";
    s.at = world.now;
    s.window = seconds{10};
    s.cpu_full_percent = stall;
    if (throttled) s.throttled = Permille{*throttled};
    s.be_degree = degree;
    signals = {s};
  }
  World world{10'000};
  EffectiveConfig config;
  Pressure::State state;
  std::vector<LsSignal> signals;
};

}  // namespace

TEST_SUITE("policy/pressure raise") {
  TEST_CASE("stalls of a latency-sensitive pod: 5 % is MID, 15 % is HIGH, just under is not") {
    for (const auto& [stall, level] : {std::pair{4.9, Level::kNone},
                                       std::pair{5.0, Level::kMid},
                                       std::pair{14.9, Level::kMid},
                                       std::pair{15.0, Level::kHigh}}) {
      RaiseRig rig;
      rig.feel(stall);
      rig.tick();
      CHECK(rig.state.level == level);
      CHECK(rig.state.by_use == Level::kNone);
    }
  }

  TEST_CASE("interference by best effort: 30 is MID, 60 is HIGH") {
    for (const auto& [degree, level] : {std::pair{29, Level::kNone},
                                        std::pair{30, Level::kMid},
                                        std::pair{59, Level::kMid},
                                        std::pair{60, Level::kHigh}}) {
      RaiseRig rig;
      rig.feel(std::nullopt, degree);
      rig.tick();
      CHECK(rig.state.level == level);
    }
  }

  TEST_CASE("a pod's own throttling is not best effort's fault") {
    RaiseRig rig;
    rig.feel(20.0, std::nullopt, 180);  // 18 % of its periods: 2 % are left
    rig.tick();
    CHECK(rig.state.level == Level::kNone);
    rig.feel(20.0, std::nullopt, 100);
    rig.tick();
    CHECK(rig.state.level == Level::kMid);
  }

  TEST_CASE("a signal never lowers the level that the use says") {
    RaiseRig rig;
    rig.feel(0.0, 0);
    rig.tick(6500);  // 85 %
    CHECK(rig.state.level == Level::kHigh);
  }

  TEST_CASE("while best effort uses under 5 % of the node nothing is raised") {
    RaiseRig rig;
    rig.feel(50.0, 90);
    rig.tick(499);
    CHECK(rig.state.level == Level::kNone);
    rig.tick(500);
    CHECK(rig.state.level == Level::kHigh);
  }

  TEST_CASE("unknown use of best effort raises nothing") {
    RaiseRig rig;
    rig.feel(50.0);
    rig.world.wait(seconds{1});
    rig.world.sample(2000, 3000);
    rig.world.signals.be_used.reset();
    rig.decide();
    CHECK(rig.state.level == Level::kNone);
  }

  TEST_CASE("a signal older than three windows means nothing") {
    RaiseRig rig;
    rig.feel(50.0);
    rig.world.wait(seconds{30});
    rig.tick();
    CHECK(rig.state.level == Level::kNone);
  }

  TEST_CASE("a pod that the cap did not help is not heard for 10 minutes") {
    RaiseRig rig;
    rig.feel(20.0);
    rig.tick();
    REQUIRE(rig.state.level == Level::kHigh);
    for (int i = 0; i < 9; ++i) rig.tick();
    rig.feel(18.0);  // this window began before the raise: it proves nothing
    rig.tick();
    CHECK(rig.state.raise.ignored.empty());
    for (int i = 0; i < 9; ++i) rig.tick();
    rig.world.wait(seconds{1});
    rig.feel(15.1);  // over three quarters of 20
    rig.world.wait(seconds{-1});
    rig.tick();
    CHECK(rig.state.raise.ignored.contains("web"));
    CHECK(rig.state.raise.level == Level::kNone);
    // Two samples under the exit mark each: HIGH, MID, NONE.
    for (int i = 0; i < 5; ++i) rig.tick();
    CHECK(rig.state.level == Level::kNone);
    rig.feel(60.0);
    rig.tick();
    CHECK(rig.state.level == Level::kNone);
    rig.world.wait(std::chrono::minutes{10});
    rig.feel(60.0);
    rig.tick();
    CHECK(rig.state.level == Level::kHigh);
  }

  TEST_CASE("a cap that helps keeps its effect: the level stays while the pod still asks") {
    RaiseRig rig;
    rig.feel(40.0);
    rig.tick();
    for (int i = 0; i < 20; ++i) rig.tick();
    rig.feel(20.0);  // fell by half, still asks for HIGH
    rig.tick();
    CHECK(rig.state.level == Level::kHigh);
    CHECK(rig.state.raise.ignored.empty());
    CHECK(rig.state.raise.reason.find("CPU stall 20.0 %") != std::string::npos);
    rig.feel(1.0);
    for (int i = 0; i < 4; ++i) rig.tick();
    CHECK(rig.state.level == Level::kNone);
  }

  TEST_CASE("switched off by configuration, each by itself") {
    RaiseRig rig;
    rig.config.pressure.raise_by_psi = false;
    rig.feel(50.0, 40);
    rig.tick();
    CHECK(rig.state.level == Level::kMid);  // by interference
    rig.config.pressure.raise_by_interference = false;
    rig.feel(50.0, 90);
    for (int i = 0; i < 3; ++i) rig.tick();
    CHECK(rig.state.level == Level::kNone);
  }

  TEST_CASE("a step up that a pod's signal answers within 25 s doubles the hold") {
    RaiseRig rig;
    rig.feel(20.0);
    rig.tick();
    rig.feel(1.0);
    for (int i = 0; i < 6; ++i) rig.tick();  // back at NONE, on the way up
    const int before = rig.state.factor_permille;
    REQUIRE(before > 300);
    for (int i = 0; i < 10; ++i) rig.tick();
    rig.feel(20.0);
    rig.tick();
    CHECK(rig.state.level == Level::kHigh);
    CHECK(rig.state.hold_seconds == rig.config.pressure.min_hold_seconds);
  }
}
