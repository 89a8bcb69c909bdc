#include "modules/qos_manager/qos_manager.hpp"

#include <doctest/doctest.h>

#include "unit/policy/world.hpp"

using namespace koordlet;
using namespace koordlet::policy;
using namespace koordlet::test;
using std::chrono::seconds;

namespace {

const CgroupPath kPodA = kBeRoot.child("poda");

struct Rig {
  World world{100'000};
  QosConfig config;
  QosManager manager;

  explicit Rig(const QosConfig& c = {}) : config{c}, manager{c} {
    world.pods.push_back(be_pod("a", 4000));
  }
  const DesiredTable& at(std::int64_t ls, std::int64_t be = 0) {
    world.wait(seconds{1});
    world.sample(ls, be);
    return manager.step(world.snap());
  }
};

NodeSlo enable_slo(bool enable) {
  NodeSlo slo;
  slo.threshold.emplace().enable = enable;
  return slo;
}

}  // namespace

TEST_SUITE("qos_manager/step") {
  TEST_CASE("before the first sample only the weight is wished, and the shell is told to wait") {
    Rig rig;
    const auto& table = rig.manager.step(rig.world.snap());
    CHECK(wish(table, kPodA) == "");
    CHECK(wish(table, kBeRoot, CgroupFile::kCpuWeight) == "20");
    CHECK_FALSE(rig.manager.status().ready);
    CHECK(rig.manager.status().stale == "node signals: none yet");
    rig.at(10'000);
    CHECK(rig.manager.status().ready);
    CHECK(rig.manager.status().stale == "");
  }

  TEST_CASE("pods that the source never listed: not ready, whatever the signals say") {
    Rig rig;
    rig.world.sample(10'000, 0);
    auto snap = rig.world.snap();
    auto state = std::make_shared<NodeState>(*snap.state);
    state->pods_at = MonoTime{};
    snap.state = state;
    rig.manager.step(snap);
    CHECK_FALSE(rig.manager.status().ready);
    CHECK(rig.manager.status().stale == "pods: not known yet");
    rig.manager.step(rig.world.snap());
    CHECK(rig.manager.status().ready);
  }

  TEST_CASE("pitfall 103: a NodeSLO that was not read yet is not an absent one: not ready") {
    Rig rig;
    rig.world.sample(10'000, 0);
    auto snap = rig.world.snap();
    auto state = std::make_shared<NodeState>(*snap.state);
    state->slo_at = MonoTime{};
    snap.state = state;
    rig.manager.step(snap);
    CHECK_FALSE(rig.manager.status().ready);
    CHECK(rig.manager.status().stale == "nodeslo: not known yet");
  }

  TEST_CASE("levels, ticks and changes are counted") {
    Rig rig;
    CHECK(wish(rig.at(64'000), kPodA) == "400000 100000");
    CHECK(wish(rig.at(85'000), kPodA) == "120000 100000");
    CHECK(wish(rig.manager.desired(), kBeRoot) == "120000 100000");
    CHECK(rig.manager.status().pressure.level == Level::kHigh);
    CHECK(rig.manager.status().level_changes == 1);
    CHECK(rig.manager.status().ticks == 2);
    rig.manager.note_duration(std::chrono::microseconds{42});
    CHECK(rig.manager.status().last_step == std::chrono::microseconds{42});
  }

  TEST_CASE("stale signals: the table holds, the text says how old") {
    Rig rig;
    rig.at(85'000);
    rig.world.wait(std::chrono::milliseconds{5250});
    CHECK(wish(rig.manager.step(rig.world.snap()), kPodA) == "120000 100000");
    CHECK(rig.manager.status().stale == "node signals: 5.2 s old, expected at most 3 s");
    CHECK(wish(rig.manager.step(rig.world.snap_without_node()), kPodA) == "120000 100000");
    CHECK(rig.manager.status().stale ==
          "node signals: 5.2 s old, expected at most 3 s; node: CPU capacity unknown");
  }

  TEST_CASE("both engines at once: the BE root gets the smaller, a v1 pod not more than it") {
    Rig rig;
    rig.world.slo = enable_slo(true);
    rig.world.slo->threshold->cpu_suppress_policy = SuppressPolicy::kCfsQuota;
    const auto& table = rig.at(64'500);  // budget 65000 - 64500; level NONE
    CHECK(wish(table, kBeRoot) == "50000 100000");
    CHECK(wish(table, kPodA) == "50000 100000");
    CHECK(table.at({kPodA, CgroupFile::kCpuMax}).plugin == "pressure");
    rig.world.version = CgroupVersion::kV2;
    CHECK(wish(rig.at(64'500), kPodA) == "400000 100000");
  }

  TEST_CASE("since tells when a value became the wish") {
    Rig rig;
    rig.at(85'000);
    const MonoTime cut = rig.world.now;
    rig.at(86'000);
    CHECK(rig.manager.desired().at({kPodA, CgroupFile::kCpuMax}).since == cut);
  }
}

TEST_SUITE("qos_manager/off") {
  TEST_CASE("raw enable=false empties the table at once; on again starts fresh") {
    Rig rig;
    rig.at(85'000);
    rig.world.slo = enable_slo(false);
    CHECK(rig.at(85'000).empty());
    CHECK(rig.manager.status().effective.off);
    CHECK(rig.manager.status().pressure == Pressure::State{});
    rig.world.slo->threshold->enable.reset();
    CHECK(wish(rig.at(70'000), kPodA) == "280000 100000");
  }

  TEST_CASE("no NodeSLO and without_nodeslo = off: nothing, and ready to restore leftovers") {
    QosConfig config;
    config.local_without_nodeslo = false;
    Rig rig{config};
    CHECK(rig.manager.step(rig.world.snap()).empty());
    CHECK(rig.manager.status().ready);
    rig.world.slo = NodeSlo{};
    CHECK_FALSE(rig.at(85'000).empty());
  }

  TEST_CASE("a refused NodeSLO value is listed and the last good one holds") {
    Rig rig;
    rig.world.slo = NodeSlo{};
    rig.world.slo->pressure.emplace().high_percent = 70;
    rig.at(10'000);
    rig.world.slo->pressure->high_percent = 101;
    rig.at(72'000);
    CHECK(rig.manager.status().effective.faults.size() == 1);
    CHECK(rig.manager.status().pressure.level == Level::kHigh);
  }

  TEST_CASE("the switch is read in every cycle") {
    Rig rig;
    for (int i = 0; i < 4; ++i) {
      rig.world.slo = enable_slo(i % 2 == 1);
      CHECK(rig.at(85'000).empty() == (i % 2 == 0));
    }
  }
}

TEST_SUITE("qos_manager/adopt") {
  TEST_CASE("LIF-1: an adopted cap of 120000 for 4 cores is f = 300, HIGH, and is kept") {
    Rig rig;
    rig.manager.adopt(
        {{MilliCpu{4000}, std::chrono::microseconds{120'000}}}, std::nullopt, rig.world.now);
    CHECK(rig.manager.status().pressure.factor_permille == 300);
    CHECK(rig.manager.status().pressure.level == Level::kHigh);
    CHECK(wish(rig.manager.step(rig.world.snap()), kPodA) == "120000 100000");
    CHECK(wish(rig.at(10'000), kPodA) == "120000 100000");  // first new sample
    CHECK(rig.manager.status().pressure.level == Level::kHigh);
    CHECK(wish(rig.at(10'000), kPodA) == "160000 100000");  // two samples under the exit mark
  }

  TEST_CASE("LIF-2: adopted, but the policy is off: the table is empty, the caps go back") {
    Rig rig;
    rig.world.slo = enable_slo(false);
    rig.manager.adopt(
        {{MilliCpu{4000}, std::chrono::microseconds{120'000}}}, std::nullopt, rig.world.now);
    CHECK(rig.manager.step(rig.world.snap()).empty());
    CHECK(rig.manager.status().ready);
  }

  TEST_CASE("an adopted cap of the BE root holds, and rises only with the second new sample") {
    Rig rig;
    rig.world.pods = {be_pod("free", std::nullopt)};
    rig.manager.adopt({}, MilliCpu{5000}, rig.world.now);
    CHECK(wish(rig.manager.step(rig.world.snap()), kBeRoot) == "500000 100000");
    CHECK(wish(rig.at(20'000), kBeRoot) == "500000 100000");
    CHECK(wish(rig.at(20'000), kBeRoot) == "1500000 100000");
  }

  TEST_CASE("an adopted sum of pod caps on the BE root gives way to the sum of now") {
    Rig rig;
    rig.manager.adopt(
        {{MilliCpu{4000}, std::chrono::microseconds{120'000}}}, MilliCpu{9000}, rig.world.now);
    CHECK(wish(rig.manager.step(rig.world.snap()), kBeRoot) == "120000 100000");
    CHECK(rig.manager.status().pressure.root_cap == MilliCpu{0});
  }

  TEST_CASE("the level of adopted caps follows NodeSLO's factors, known with the first step") {
    Rig rig;
    rig.world.slo = NodeSlo{};
    rig.world.slo->pressure.emplace().factor_mid_permille = 400;
    rig.manager.adopt(
        {{MilliCpu{4000}, std::chrono::microseconds{200'000}}}, std::nullopt, rig.world.now);
    CHECK(rig.manager.status().pressure.level == Level::kMid);
    rig.manager.step(rig.world.snap());
    CHECK(rig.manager.status().pressure.level == Level::kNone);
    CHECK(rig.manager.status().pressure.factor_permille == 500);
  }
}

TEST_SUITE("qos_manager/near_threshold") {
  bool near(const QosManager& m, std::int64_t used, std::int64_t be, std::int64_t capacity) {
    NodeSignals s;
    s.node_used = MilliCpu{used};
    s.be_used = MilliCpu{be};
    return m.near_threshold(s, MilliCpu{capacity});
  }

  TEST_CASE("within 5 points of 65 or 80, or above 80 while BE runs") {
    const QosManager m{QosConfig{}};
    CHECK_FALSE(near(m, 59'999, 1000, 100'000));
    CHECK(near(m, 60'000, 1000, 100'000));
    CHECK(near(m, 70'000, 1000, 100'000));
    CHECK_FALSE(near(m, 70'001, 1000, 100'000));
    CHECK_FALSE(near(m, 74'999, 1000, 100'000));
    CHECK(near(m, 75'000, 1000, 100'000));
    CHECK(near(m, 85'000, 0, 100'000));
    CHECK(near(m, 95'000, 1000, 100'000));
    CHECK_FALSE(near(m, 95'000, 0, 100'000));
    CHECK_FALSE(near(m, 65'000, 1000, 0));
  }

  TEST_CASE("idle CPUs are to be kept: always") {
    QosConfig config;
    config.idle_buffer.cores = 2;
    CHECK(near(QosManager{config}, 1000, 0, 100'000));
    CHECK_FALSE(near(QosManager{config}, 1000, 0, 0));
  }

  TEST_CASE("only the suppress rule: its own threshold; off: never") {
    QosConfig config;
    config.pressure_profile = false;
    const QosManager none{config};
    CHECK_FALSE(near(none, 65'000, 1000, 100'000));
    config.suppress.enable = true;
    config.suppress.threshold_percent = 40;
    const QosManager suppress{config};
    CHECK(near(suppress, 36'000, 1000, 100'000));
    CHECK_FALSE(near(suppress, 34'000, 1000, 100'000));
    CHECK(near(suppress, 90'000, 1000, 100'000));
    config.local_without_nodeslo = false;
    const QosManager off{config};
    CHECK_FALSE(near(off, 40'000, 1000, 100'000));
  }
}

TEST_SUITE("qos_manager/burst and memory") {
  TEST_CASE(
      "the NodeSLO of suppression off: burst goes by its own section, and no input is assumed") {
    Rig rig;
    rig.world.slo = enable_slo(false);
    rig.world.slo->burst.emplace().policy = BurstPolicy::kAuto;
    rig.manager.step(rig.world.snap());
    CHECK_FALSE(rig.manager.status().ready);
    rig.at(10'000);
    CHECK(rig.manager.status().ready);
    CHECK(rig.manager.status().burst.summary.on);
    CHECK(rig.manager.desired().empty());
  }

  TEST_CASE("pitfall 109: a class that is switched off loses its wishes with the next tick") {
    Rig rig;
    rig.world.signals.memory_total = Bytes{std::int64_t{8} << 30};
    rig.world.pods[0].qos = QosClass::kBe;
    auto& c = rig.world.pods[0].containers[0];
    c.limits.batch_memory = Bytes{std::int64_t{1} << 30};
    const auto wished = [&] {
      rig.world.wait(seconds{1});
      rig.world.sample(10'000, 0);
      auto snap = rig.world.snap();
      snap.has_memory_min = true;
      return wish(rig.manager.step(snap), *c.cgroup, CgroupFile::kMemoryHigh);
    };
    // 80 % of the limit, in whole pages.
    CHECK(wished() == "858992640");
    rig.world.slo.emplace().memory_qos.be.emplace().enable = false;
    CHECK(wished() == "");
  }

  TEST_CASE("hands off: what was wished for the pod is gone with the next step") {
    QosConfig config;
    config.hands_off_namespaces = {"default"};
    Rig rig{config};
    rig.world.pods.push_back(be_pod("b", 4000));
    CHECK(wish(rig.at(85'000), kPodA) == "120000 100000");
    rig.world.pods[0].annotations["koordinator.sh/qos-hands-off"] = "true";
    const auto& table = rig.at(85'000);
    for (const auto& [key, wish] : table) {
      CAPTURE(to_string(key));
      CHECK(key.path != kPodA);
      CHECK_FALSE(kPodA.is_ancestor_of(key.path));
    }
    CHECK(wish(table, kBeRoot.child("podb")) == "120000 100000");
  }
}
