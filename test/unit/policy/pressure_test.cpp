#include "policy/pressure.hpp"

#include <doctest/doctest.h>

#include "unit/policy/world.hpp"

using namespace koordlet;
using namespace koordlet::policy;
using namespace koordlet::test;
using std::chrono::seconds;

namespace {

constexpr std::int64_t kNode = 1'000'000;  // 1000 cores: 1 % is 10000 m

struct Rig {
  World world{kNode};
  EffectiveConfig config;
  Pressure::State state;

  explicit Rig(bool hold_doubling = false) {
    config.pressure.hold_doubling = hold_doubling;
    world.pods.push_back(be_pod("a", 4000));
  }
  std::vector<Proposal> look(bool may_relax = true) {
    auto d = Pressure::decide(world.snap(may_relax), config, state);
    state = d.state;
    return d.proposals;
  }
  /// One second later, a sample of `use` milli-cores by LS alone.
  std::vector<Proposal> at(std::int64_t use, bool may_relax = true) {
    world.wait(seconds{1});
    world.sample(use, 0);
    return look(may_relax);
  }
};

const CgroupPath kPodA = kBeRoot.child("poda");

}  // namespace

TEST_SUITE("policy/pressure levels") {
  TEST_CASE("PRE-1: 64.99, 65, 79.99 and 80 % from a fresh state, hold doubling off and on") {
    struct Row {
      std::int64_t use;
      int factor;
      const char* cpu_max;
    };
    for (const bool doubling : {false, true}) {
      for (const Row& row : {Row{649'900, 1000, "400000 100000"},
                             Row{650'000, 700, "280000 100000"},
                             Row{799'900, 700, "280000 100000"},
                             Row{800'000, 300, "120000 100000"}}) {
        CAPTURE(row.use);
        Rig rig{doubling};
        const auto got = rig.at(row.use);
        CHECK(rig.state.factor_permille == row.factor);
        CHECK(wish(got, kPodA) == row.cpu_max);
      }
    }
  }

  TEST_CASE("the threshold is exact: one milli-core below 65 % of an odd node is NONE") {
    Rig rig;
    rig.world.node.cpu_capacity = MilliCpu{7'001};  // 65 % is 4550.65 m
    rig.at(4'550);
    CHECK(rig.state.level == Level::kNone);
    rig.at(4'551);
    CHECK(rig.state.level == Level::kMid);
  }

  TEST_CASE("PRE-2: the same sample 60 times changes the state once and proposes the same") {
    for (const bool doubling : {false, true}) {
      Rig rig{doubling};
      rig.at(850'000);
      rig.at(700'000);  // first of two samples under the exit mark of HIGH
      const auto state = rig.state;
      const auto proposals = rig.look();
      for (int i = 0; i < 60; ++i) {
        rig.world.now += std::chrono::milliseconds{10};
        CHECK(rig.look() == proposals);
        CHECK(rig.state == state);
      }
      CHECK(state.below_exit == 1);
      CHECK(state.level == Level::kHigh);
    }
  }

  TEST_CASE("PRE-3: HIGH, then 74, 76, 74, 74 leaves the level only at the last") {
    for (const bool doubling : {false, true}) {
      Rig rig{doubling};
      rig.at(800'000);
      for (const std::int64_t use : {740'000, 760'000, 740'000}) {
        rig.at(use);
        CHECK(rig.state.level == Level::kHigh);
      }
      rig.at(740'000);
      CHECK(rig.state.level == Level::kMid);
    }
  }

  TEST_CASE("the exit mark itself does not count as below") {
    Rig rig;
    rig.at(800'000);
    rig.at(750'000);
    rig.at(750'000);
    CHECK(rig.state.level == Level::kHigh);
    CHECK(rig.state.below_exit == 0);
  }

  TEST_CASE("use above the capacity is HIGH, and shown raw") {
    Rig rig;
    rig.at(1'074'200);
    CHECK(rig.state.level == Level::kHigh);
    CHECK(rig.state.use_permyriad == 10'742);
  }

  TEST_CASE("the reason names level, use, request and factor") {
    Rig rig;
    const auto got = rig.at(831'000);
    REQUIRE_FALSE(got.empty());
    CHECK(got[0].reason == "level HIGH (83.1 % >= 80 %): request 4000m x 300 permille");
    rig.at(600'000);
    const auto mid = rig.at(610'000);
    REQUIRE_FALSE(mid.empty());
    CHECK(mid[0].reason ==
          "level MID (61.0 %, left below 60 %): request 4000m x 400 permille (ramp to 700)");
  }
}

TEST_SUITE("policy/pressure relaxing") {
  TEST_CASE("PRE-4: BE demand above the MID caps settles at HIGH without flips") {
    // 1024 cores, LS 570, 200 BE pods x 4 cores asking for 2 each.
    for (const bool doubling : {false, true}) {
      World world{1'024'000};
      for (int i = 0; i < 200; ++i) world.pods.push_back(be_pod("p" + std::to_string(i), 4000));
      EffectiveConfig config;
      config.pressure.hold_doubling = doubling;
      Pressure::State state;
      int flips = 0;
      for (int i = 0; i < 50; ++i) {
        const std::int64_t cap = 800'000LL * state.factor_permille / 1000;
        world.wait(seconds{10});
        world.sample(570'000, std::min<std::int64_t>(400'000, cap));
        const int before = state.factor_permille;
        state = Pressure::decide(world.snap(), config, state).state;
        if (i > 0 && state.factor_permille != before) ++flips;
      }
      CHECK(state.level == Level::kHigh);
      CHECK(state.factor_permille == 300);
      CHECK(flips == 0);
      CHECK(world.signals.node_used == MilliCpu{810'000});  // 79.1015625 %
      CHECK(state.use_permyriad == 7910);
    }
  }

  TEST_CASE("LS idle, BE demand 800 of 1024: the ramp stops at 800 permille") {
    // Case (b): the next step would predict 720 / 1024 = 70.31 %.
    World world{1'024'000};
    for (int i = 0; i < 200; ++i) world.pods.push_back(be_pod("p" + std::to_string(i), 4000));
    EffectiveConfig config;
    Pressure::State state;
    for (int i = 0; i < 100; ++i) {
      world.wait(seconds{10});
      world.sample(0, 800'000LL * state.factor_permille / 1000);
      state = Pressure::decide(world.snap(), config, state).state;
    }
    CHECK(state.level == Level::kNone);
    CHECK(state.factor_permille == 800);
  }

  TEST_CASE("without the guard the ramp climbs one step a sample up to the level's factor") {
    Rig rig;
    rig.config.pressure.relax_guard = false;
    rig.at(800'000);
    rig.at(700'000);
    int last = rig.state.factor_permille;
    CHECK(last == 300);
    for (const int want : {400, 500, 600, 700, 700}) {
      rig.at(700'000);
      CHECK(rig.state.factor_permille == want);
    }
  }

  TEST_CASE("use of pods without a request stays in the guard's prediction") {
    // Caps of 300 cores, and BE uses 490: one step of 100 cores may lead to 79.9 %, not to 80 %.
    for (const std::int64_t ls : {209'999, 210'000}) {
      CAPTURE(ls);
      Rig rig;
      rig.world.pods = {be_pod("a", 1'000'000), be_pod("free", std::nullopt)};
      rig.state.level = Level::kMid;
      rig.state.factor_permille = 300;
      rig.world.sample(ls, 490'000);
      rig.look();
      CHECK(rig.state.factor_permille == (ls < 210'000 ? 400 : 300));
    }
  }

  TEST_CASE("BE use unknown: the guard takes the caps for full") {
    Rig rig;
    rig.world.pods = {be_pod("a", 400'000)};
    rig.at(800'000);
    rig.at(740'000);
    rig.world.signals.be_used.reset();
    rig.world.wait(seconds{1});
    ++rig.world.signals.seq;
    rig.world.signals.at = rig.world.now;
    rig.world.signals.node_used = MilliCpu{740'000};  // + (400 - 300) x 400 = 780 >= 800? no: 78 %
    rig.look();
    CHECK(rig.state.level == Level::kMid);
    CHECK(rig.state.factor_permille == 400);
    rig.world.wait(seconds{1});
    ++rig.world.signals.seq;
    rig.world.signals.at = rig.world.now;
    rig.world.signals.node_used = MilliCpu{765'000};  // would become 80.5 %
    rig.look();
    CHECK(rig.state.factor_permille == 400);
  }

  TEST_CASE("event ticks escalate at once, but neither count exits nor ramp") {
    Rig rig;
    rig.config.pressure.relax_guard = false;
    rig.at(500'000);
    const auto cut = rig.at(850'000, false);
    CHECK(rig.state.level == Level::kHigh);
    CHECK(wish(cut, kPodA) == "120000 100000");
    for (int i = 0; i < 10; ++i) rig.at(100'000, false);
    CHECK(rig.state.level == Level::kHigh);
    CHECK(rig.state.below_exit == 0);
    rig.look();  // the normal tick may still use the sample that event ticks saw
    CHECK(rig.state.below_exit == 1);
    rig.at(700'000);
    CHECK(rig.state.level == Level::kMid);
    CHECK(rig.state.factor_permille == 400);
    for (int i = 0; i < 10; ++i) rig.at(700'000, false);
    CHECK(rig.state.factor_permille == 400);
  }
}

TEST_SUITE("policy/pressure hold doubling") {
  /// HIGH, then below its exit until the factor makes one step, then HIGH again a second later.
  void fail_a_step(Rig & rig) {
    while (rig.state.level != Level::kHigh) rig.at(800'000);
    const int start = rig.state.factor_permille;
    for (int i = 0; i < 2000 && rig.state.factor_permille == start; ++i) rig.at(700'000);
    CHECK(rig.state.factor_permille == start + 100);
    rig.at(800'000);
    CHECK(rig.state.factor_permille == 300);
  }

  TEST_CASE("each failed step doubles the hold, from 10 s up to 600 s") {
    Rig rig{true};
    rig.config.pressure.relax_guard = false;
    for (const int hold : {10, 20, 40, 80, 160, 320, 600, 600}) {
      fail_a_step(rig);
      CHECK(rig.state.hold_seconds == hold);
      CHECK(*rig.state.hold_until == rig.world.now + seconds{hold});
    }
  }

  TEST_CASE("nothing relaxes while the hold lasts, and relaxing goes on right after it") {
    Rig rig{true};
    rig.config.pressure.relax_guard = false;
    fail_a_step(rig);
    const MonoTime until = *rig.state.hold_until;
    while (rig.world.now + seconds{1} < until) {
      rig.at(700'000);
      CHECK(rig.state.factor_permille == 300);
    }
    rig.at(700'000);
    CHECK(rig.world.now == until);
    CHECK(rig.state.factor_permille == 400);
  }

  TEST_CASE("an escalation goes back to the factor before the step, below the level's factor") {
    Rig rig{true};
    rig.state.factor_permille = 300;
    rig.at(500'000);
    REQUIRE(rig.state.level == Level::kNone);
    REQUIRE(rig.state.factor_permille == 400);
    rig.at(660'000);  // MID: its factor is 700, but the step was wrong
    CHECK(rig.state.level == Level::kMid);
    CHECK(rig.state.factor_permille == 300);
    CHECK(rig.state.hold_seconds == 10);
  }

  TEST_CASE("a ramp that goes well is never held, and the level's time stands") {
    Rig rig{true};
    rig.at(800'000);
    rig.at(500'000);
    rig.at(500'000);  // MID
    rig.at(500'000);
    rig.at(500'000);  // NONE
    const MonoTime since = rig.world.now;
    CHECK(rig.state.factor_permille == 600);
    for (const int want : {700, 800, 900, 1000, 1000}) {
      rig.at(500'000);
      CHECK(rig.state.factor_permille == want);
      CHECK(rig.state.hold_seconds == 0);
      CHECK(rig.state.level_since == since);
    }
  }

  TEST_CASE("an escalation more than 3 s after the step is not blamed on it") {
    Rig rig{true};
    rig.at(800'000);
    rig.at(700'000);
    rig.at(700'000);
    REQUIRE(rig.state.factor_permille == 400);
    rig.world.wait(std::chrono::milliseconds{2001});
    rig.at(800'000);
    CHECK(rig.state.hold_seconds == 0);
    CHECK(rig.state.factor_permille == 300);
  }

  TEST_CASE("an escalation exactly 3 s after the step is") {
    Rig rig{true};
    rig.at(800'000);
    rig.at(700'000);
    rig.at(700'000);
    rig.world.wait(seconds{2});
    rig.at(800'000, false);
    CHECK(rig.state.hold_seconds == 10);
  }

  TEST_CASE("a hold is forgotten after max_hold quiet seconds") {
    Rig rig{true};
    rig.config.pressure.relax_guard = false;
    fail_a_step(rig);
    rig.world.now = *rig.state.hold_until + seconds{599};
    rig.world.sample(100'000, 0);
    rig.look();
    CHECK(rig.state.hold_seconds == 10);
    rig.at(100'000);
    CHECK(rig.state.hold_seconds == 0);
    CHECK_FALSE(rig.state.hold_until.has_value());
  }

  TEST_CASE("a node that cannot bear the next step is cut a few times an hour, not 600") {
    const auto cuts_in_an_hour = [](bool doubling) {
      Rig rig{doubling};
      rig.config.pressure.relax_guard = false;
      int cuts = 0;
      for (int i = 0; i < 3600; ++i) {
        const bool over = rig.state.factor_permille > 300;
        const int before = rig.state.factor_permille;
        rig.at(over ? 810'000 : 700'000);
        if (rig.state.factor_permille < before) ++cuts;
      }
      return cuts;
    };
    CHECK(cuts_in_an_hour(false) > 600);
    // Holds of 10, 20, ... 320 s are six cuts in 630 s; then one each 600 s.
    CHECK(cuts_in_an_hour(true) <= 13);
  }
}

TEST_SUITE("policy/pressure holding") {
  TEST_CASE("nothing is proposed before the first sample") {
    Rig rig;
    CHECK(rig.look().empty());
  }

  TEST_CASE("stale signals keep the caps, new pods get theirs, nothing relaxes") {
    Rig rig;
    rig.at(800'000);
    const auto held = rig.state;
    const auto before = rig.look();
    rig.world.wait(seconds{4});  // limit is 3 s
    CHECK(rig.look() == before);
    CHECK(rig.state == held);
    rig.world.pods.push_back(be_pod("b", 1000));
    CHECK(wish(rig.look(), kBeRoot.child("podb")) == "30000 100000");
  }

  TEST_CASE("signals of exactly the limit are still fresh") {
    Rig rig;
    rig.at(500'000);
    rig.world.sample(900'000, 0);
    rig.world.wait(seconds{3});
    rig.look();
    CHECK(rig.state.level == Level::kHigh);
  }

  TEST_CASE("a node object that vanishes for a moment drops no cap") {
    Rig rig;
    const auto before = rig.at(800'000);
    rig.world.sample(10'000, 0);
    auto d = Pressure::decide(rig.world.snap_without_node(), rig.config, rig.state);
    CHECK(d.proposals == before);
    CHECK(d.state == rig.state);
    rig.world.node.cpu_capacity = MilliCpu{0};
    CHECK(rig.look() == before);
  }

  TEST_CASE("off, or the rule disabled: no proposals and a fresh state") {
    Rig rig;
    rig.at(800'000);
    auto config = rig.config;
    config.off = true;
    auto d = Pressure::decide(rig.world.snap(), config, rig.state);
    CHECK(d.proposals.empty());
    CHECK(d.state == Pressure::State{});
    config = rig.config;
    config.pressure.enable = false;
    d = Pressure::decide(rig.world.snap(), config, rig.state);
    CHECK(d.proposals.empty());
    CHECK(d.state == Pressure::State{});
  }

  TEST_CASE("adopted caps hold without signals, and relax only with the second new sample") {
    Rig rig;
    rig.config.pressure.relax_guard = false;
    rig.state = Pressure::adopt({{MilliCpu{4000}, std::chrono::microseconds{200'000}},
                                 {MilliCpu{1000}, std::chrono::microseconds{70'000}}},
                                rig.config.pressure,
                                rig.world.now);
    CHECK(rig.state.factor_permille == 500);
    CHECK(rig.state.level == Level::kMid);
    CHECK(wish(rig.look(), kPodA) == "200000 100000");
    rig.at(620'000);
    CHECK(rig.state.factor_permille == 500);
    rig.at(620'000);
    CHECK(rig.state.factor_permille == 600);
  }

  TEST_CASE("adopting: nothing, a pod without a request, a quota above the request") {
    const PressureConfig cfg;
    const MonoTime now{seconds{5}};
    CHECK(Pressure::adopt({}, cfg, now).factor_permille == 1000);
    CHECK(Pressure::adopt({}, cfg, now).level == Level::kNone);
    CHECK(Pressure::adopt({{MilliCpu{0}, std::chrono::microseconds{1000}}}, cfg, now)
              .factor_permille == 1000);
    CHECK(Pressure::adopt({{MilliCpu{10}, std::chrono::microseconds{5000}}}, cfg, now)
              .factor_permille == 1000);
  }
}
