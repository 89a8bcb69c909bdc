#include "policy/cap_effect.hpp"

#include <doctest/doctest.h>

#include "world.hpp"

using namespace koordlet;
using namespace koordlet::policy;
using namespace koordlet::test;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

/// A second a step; windows of 10 s of the pods "a" and "b" end at each full ten seconds.
struct Rig {
  World world{100'000};
  EffectState state;
  CapView view;
  std::vector<LsSignal> windows;
  std::vector<CapEffect> fallen;
  bool in_force = true;

  void window(const std::string& uid, LsSignal s) {
    s.uid = uid;
    s.at = world.now;
    s.window = seconds{10};
    std::erase_if(windows, [&](const auto& w) { return w.uid == uid; });
    windows.push_back(s);
  }
  void step(std::int64_t used = 50'000) {
    world.sample(used, 0);
    auto snap = world.snap();
    snap.ls_signals = windows;
    if (auto e = observe_effect(snap, view, in_force, state)) fallen.push_back(*e);
    world.wait(seconds{1});
  }
  void steps(int n, std::int64_t used = 50'000) {
    for (int i = 0; i < n; ++i) step(used);
  }
  void cut() {
    view.level = Level::kHigh;
    view.factor_permille = 300;
  }
};

LsSignal stall(double full) {
  LsSignal s;
  s.cpu_full_percent = full;
  return s;
}

}  // namespace

TEST_SUITE("policy/cap_effect") {
  TEST_CASE(
      "a stall that falls from 20 % to 4 % after a cut: helped, with node use on both sides") {
    Rig rig;
    rig.window("a", stall(20));
    rig.window("b", stall(6));
    rig.steps(10, 90'000);
    rig.window("a", stall(20));
    rig.cut();
    rig.step(90'000);
    REQUIRE(rig.state.open);
    CHECK(rig.state.open->trigger == "level NONE to HIGH, factor 1000 to 300 permille");
    CHECK_FALSE(rig.state.open->verdict);
    rig.steps(11, 60'000);
    rig.window("a", stall(4));  // begins 2 s after the cut: wholly in the settled time
    rig.window("b", stall(9));
    CHECK(rig.fallen.empty());
    rig.steps(2, 60'000);
    REQUIRE(rig.fallen.size() == 1);
    const auto& e = rig.fallen[0];
    CHECK(e.verdict == EffectVerdict::kHelped);
    REQUIRE(e.lead);
    CHECK(e.lead->signal == EffectSignal::kPsiFull);
    CHECK(e.lead->uid == "a");
    CHECK(*e.lead->before == doctest::Approx(20));
    CHECK(*e.lead->after == doctest::Approx(4));
    CHECK(e.node_before == MilliCpu{90'000});
    CHECK(e.node_after == MilliCpu{60'000});
    CHECK(rig.state.done.front() == e);
    CHECK_FALSE(rig.state.open);
  }
  TEST_CASE("a quarter is the line: 20 to 16 no change, 20 to 15 helped, 20 to 25 worse") {
    for (const auto& [after, want] : {std::pair{16.0, EffectVerdict::kNoChange},
                                      std::pair{15.0, EffectVerdict::kHelped},
                                      std::pair{24.0, EffectVerdict::kNoChange},
                                      std::pair{25.0, EffectVerdict::kWorse}}) {
      const double value = after;
      CAPTURE(value);
      Rig rig;
      rig.window("a", stall(20));
      rig.step();
      rig.cut();
      rig.steps(13);
      rig.window("a", stall(value));
      rig.step();
      REQUIRE(rig.fallen.size() == 1);
      CHECK(*rig.fallen[0].verdict == want);
    }
  }
  TEST_CASE("nothing hurt before or after: no change, not helped by noise") {
    Rig rig;
    rig.window("a", stall(0.8));
    rig.step();
    rig.cut();
    rig.steps(13);
    rig.window("a", stall(0));
    rig.step();
    REQUIRE(rig.fallen.size() == 1);
    CHECK(*rig.fallen[0].verdict == EffectVerdict::kNoChange);
  }
  TEST_CASE("no signal at all: unknown, never zero") {
    Rig rig;
    rig.step();
    rig.cut();
    rig.steps(13);
    REQUIRE(rig.fallen.size() == 1);
    CHECK(*rig.fallen[0].verdict == EffectVerdict::kUnknown);
    CHECK_FALSE(rig.fallen[0].lead);
    CHECK(rig.fallen[0].signals.empty());
    CHECK(rig.fallen[0].why.find("no signal") == 0);
  }
  TEST_CASE("the pod is gone after the cut: unknown when patience ends") {
    Rig rig;
    rig.window("a", stall(20));
    rig.step();
    rig.cut();
    rig.step();
    rig.windows.clear();
    rig.steps(36);
    CHECK(rig.fallen.empty());
    rig.step();
    REQUIRE(rig.fallen.size() == 1);
    CHECK(*rig.fallen[0].verdict == EffectVerdict::kUnknown);
    CHECK(rig.fallen[0].signals.at(0).before);
    CHECK_FALSE(rig.fallen[0].signals.at(0).after);
  }
  TEST_CASE("a window that began before the cut settled says nothing about after") {
    Rig rig;
    rig.window("a", stall(20));
    rig.step();
    rig.cut();
    rig.steps(9);
    rig.window("a", stall(1));
    rig.steps(5);
    CHECK(rig.fallen.empty());
  }
  TEST_CASE("a second cut within the settling belongs to the first, a later one ends it") {
    Rig rig;
    rig.window("a", stall(20));
    rig.step();
    rig.view.level = Level::kMid;
    rig.view.factor_permille = 700;
    rig.step();
    const auto settled = rig.state.open->settled;
    rig.cut();
    rig.step();
    CHECK(rig.state.open->settled == settled + seconds{1});
    CHECK(rig.state.open->trigger.find("; level MID to HIGH") != std::string::npos);
    rig.steps(5);
    rig.view.factor_permille = 200;
    rig.step();
    REQUIRE(rig.fallen.size() == 1);
    CHECK(*rig.fallen[0].verdict == EffectVerdict::kUnknown);
    CHECK(rig.state.open->trigger == "factor 300 to 200 permille");
  }
  TEST_CASE("lifted before it could show, and not in force any more: unknown") {
    for (const bool lifted : {true, false}) {
      CAPTURE(lifted);
      Rig rig;
      rig.window("a", stall(20));
      rig.step();
      rig.cut();
      rig.steps(4);
      if (lifted) {
        rig.view = CapView{};
      } else {
        rig.in_force = false;
      }
      rig.step();
      REQUIRE(rig.fallen.size() == 1);
      CHECK(*rig.fallen[0].verdict == EffectVerdict::kUnknown);
      rig.steps(3);
      CHECK(rig.fallen.size() == 1);
    }
  }
  TEST_CASE("the class cap: a slow fall adds up within 10 s, small steps and first caps are none") {
    Rig rig;
    rig.view.class_cap = MilliCpu{10'000};
    rig.step();
    rig.view.class_cap = MilliCpu{9'500};
    rig.step();
    CHECK_FALSE(rig.state.open);
    rig.view.class_cap = MilliCpu{9'000};
    rig.step();
    REQUIRE(rig.state.open);
    CHECK(rig.state.open->trigger == "cap of the BE root 10000m to 9000m");
    Rig first;
    first.step();
    first.view.class_cap = MilliCpu{5'000};
    first.step();
    CHECK_FALSE(first.state.open);
  }
  TEST_CASE("the degree leads over stalls, and the run queue comes last") {
    Rig rig;
    LsSignal s = stall(20);
    s.degree = 50;
    s.wait_p95 = milliseconds{8};
    rig.window("a", s);
    rig.step();
    rig.cut();
    rig.steps(13);
    s.degree = 49;
    s.cpu_full_percent = 1;
    s.wait_p95 = milliseconds{1};
    rig.window("a", s);
    rig.step();
    REQUIRE(rig.fallen.size() == 1);
    CHECK(rig.fallen[0].lead->signal == EffectSignal::kDegree);
    CHECK(*rig.fallen[0].verdict == EffectVerdict::kNoChange);
    REQUIRE(rig.fallen[0].signals.size() == 3);
    CHECK(*rig.fallen[0].signals[2].after == doctest::Approx(1000));
  }
}
