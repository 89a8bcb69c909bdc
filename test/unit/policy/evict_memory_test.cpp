#include <doctest/doctest.h>

#include "policy/evict.hpp"
#include "unit/policy/evict_rig.hpp"

using namespace koordlet;
using namespace koordlet::policy;
using namespace koordlet::test;
using std::chrono::seconds;

TEST_SUITE("policy/evict") {
  TEST_CASE("MEV-1: need 12 GiB of 100, victims B, A, C one after the other, D stays") {
    EvictRig rig;
    rig.add("A", gib(8), 5500);
    rig.add("B", gib(2), 5000);
    rig.add("C", gib(6), 5500);
    rig.add("D", std::nullopt, 5500);
    Bytes used = gib(80);
    rig.ticks(2, used);
    CHECK(rig.state.need == Bytes{12'884'901'888});
    CHECK(rig.state.phase == EvictPhase::kMeasuring);  // D has no sample: asked for, not for ever
    CHECK(rig.answer.want_fresh_pods);
    rig.ticks(5, used);
    CHECK(rig.evict(used) == "B");
    CHECK(rig.evict(used) == "A");
    CHECK(used == gib(70));
    CHECK(rig.evict(used) == "C");  // at exactly 70 % the limit is still reached
    CHECK(used == gib(64));
    CHECK(rig.ticks(5, used).wishes.empty());
    CHECK(rig.state.phase == EvictPhase::kIdle);
  }

  TEST_CASE(
      "MEV-2: 70.99 % starts it, 69.99 % does not; the need is exact, not of whole percents") {
    const Bytes percent{gib(100).v / 100};
    EvictRig rig;
    rig.add("a", gib(8));
    rig.ticks(3, Bytes{percent.v * 6999 / 100});
    CHECK(rig.state.phase == EvictPhase::kIdle);
    CHECK(rig.state.need == Bytes{0});
    rig.ticks(2, Bytes{percent.v * 7099 / 100});
    CHECK(rig.victim() == "a");
    // The original cuts 70.99 to 70 and so needs 2 %; what is really over the lower mark is 2.99 %.
    CHECK(rig.state.need == Bytes{percent.v * 7099 / 100 - percent.v * 68});
    CHECK(rig.state.use_permyriad == 7098);
  }

  TEST_CASE("softening comes first: nobody is named while it may still help, at once when not") {
    EvictRig rig;
    rig.add("a", gib(8));
    rig.softening = true;
    CHECK(rig.ticks(5, gib(72)).wishes.empty());
    CHECK(rig.state.phase == EvictPhase::kHeld);
    CHECK(rig.state.why.find("memory_soften") != std::string::npos);
    rig.softening = false;
    rig.tick(gib(72));
    CHECK(rig.victim() == "a");
  }

  TEST_CASE("page cache that memory.min keeps counts as used, and at most all memory is used") {
    EvictRig rig;
    rig.add("a", gib(8));
    rig.protected_cache = gib(3);
    rig.ticks(3, gib(66));
    CHECK(rig.state.phase == EvictPhase::kIdle);
    rig.ticks(2, gib(68));  // 71 % with the cache
    CHECK(rig.victim() == "a");
    CHECK(rig.state.use_permyriad == 7100);
    rig.protected_cache = gib(60);
    rig.tick(gib(68));
    CHECK(rig.state.use_permyriad == 10'000);
  }

  TEST_CASE("82: need 2 GiB, pods of 3, 1 and 1 GiB: one victim") {
    EvictRig rig;
    rig.add("p1", gib(1));
    rig.add("p2", gib(3));
    rig.add("p3", gib(1));
    Bytes used = gib(70);
    REQUIRE(rig.ticks(2, used).wishes.size() == 1);
    CHECK(rig.evict(used) == "p2");
    CHECK(rig.ticks(10, used).wishes.empty());
  }

  TEST_CASE("158: need 1 GiB and ten pods of 1 GiB: one victim, however long it takes to go") {
    EvictRig rig;
    rig.config.memory_evict.lower_percent = 69;
    for (int i = 0; i < 10; ++i) rig.add("p" + std::to_string(i), gib(1));
    REQUIRE(rig.ticks(2, gib(70)).wishes.size() == 1);
    CHECK(rig.state.need == gib(1));
    rig.answered(EvictionResult::kAccepted);
    for (int i = 0; i < 29; ++i) {
      CAPTURE(i);
      CHECK(rig.tick(gib(70)).wishes.empty());
    }
    CHECK(rig.state.phase == EvictPhase::kReleasing);
    rig.remove("p0");
    CHECK(rig.ticks(5, gib(69)).wishes.empty());
  }

  TEST_CASE("EV-2: an accepted victim of 4 GiB is still there, need 3 GiB: nothing new") {
    EvictRig rig;
    rig.config.memory_evict.lower_percent = 68;
    rig.add("p1", gib(4), 5000);
    rig.add("p2", gib(4), 5500);
    rig.ticks(2, gib(71));
    REQUIRE(rig.victim() == "p1");
    rig.answered(EvictionResult::kAccepted);
    rig.ticks(3, gib(71));
    CHECK(rig.victim().empty());
    CHECK(rig.state.pending == gib(4));
    CHECK(rig.state.need == gib(3));
    CHECK(rig.state.ledger.node.size() == 1);  // nothing was counted but the one that was accepted
  }

  TEST_CASE("95: pods that use nothing are no victims") {
    EvictRig rig;
    rig.add("a", Bytes{0});
    rig.add("b", Bytes{(1 << 20) - 1});
    CHECK(rig.ticks(3, gib(90)).wishes.empty());
    CHECK(rig.state.phase == EvictPhase::kNoVictim);
    rig.config.evict.require_rescue = false;
    CHECK(rig.ticks(3, gib(90)).wishes.empty());
    rig.usage["b"].memory = Bytes{1 << 20};
    CHECK(rig.tick(gib(90)).wishes.size() == 1);
  }

  TEST_CASE("103: before the pods are known nothing happens") {
    EvictRig rig;
    rig.add("a", gib(8));
    rig.pods_known = false;
    CHECK(rig.ticks(5, gib(75)).wishes.empty());
    CHECK(rig.state.phase == EvictPhase::kBlind);
    rig.pods_known = true;
    CHECK(rig.ticks(2, gib(75)).wishes.size() == 1);
  }

  TEST_CASE("one sample over the threshold is not enough, and neither is the same one twice") {
    EvictRig rig;
    rig.add("a", gib(8));
    CHECK(rig.tick(gib(75)).wishes.empty());
    CHECK(rig.state.phase == EvictPhase::kConfirming);
    rig.world.wait(seconds{1});
    CHECK(rig.decide().wishes.empty());
    CHECK(rig.tick(gib(69)).wishes.empty());
    CHECK(rig.tick(gib(75)).wishes.empty());
    CHECK(rig.tick(gib(75)).wishes.size() == 1);
  }

  TEST_CASE("samples with a hole between them are not consecutive") {
    EvictRig rig;
    rig.add("a", gib(8));
    rig.tick(gib(75));
    rig.world.wait(seconds{3});
    CHECK(rig.tick(gib(75)).wishes.empty());
    CHECK(rig.tick(gib(75)).wishes.size() == 1);
  }

  TEST_CASE("old signals withdraw the wish") {
    EvictRig rig;
    rig.add("a", gib(8));
    REQUIRE(rig.ticks(2, gib(75)).wishes.size() == 1);
    rig.world.wait(seconds{3});
    CHECK(rig.decide().wishes.size() == 1);  // 3 s is not too old
    rig.world.wait(std::chrono::milliseconds{1});
    CHECK(rig.decide().wishes.empty());
    CHECK(rig.state.phase == EvictPhase::kBlind);
    CHECK(rig.tick(gib(75)).wishes.empty());
  }

  TEST_CASE("unknown memory is not zero and not full") {
    EvictRig rig;
    rig.add("a", gib(8));
    rig.tick(gib(75));
    rig.world.wait(seconds{1});
    rig.world.sample(0, 0);
    for (const auto total : {std::optional<Bytes>{}, std::optional{Bytes{0}}}) {
      rig.world.signals.memory_total = total;
      CHECK(rig.decide().wishes.empty());
      CHECK(rig.state.phase == EvictPhase::kBlind);
    }
    rig.world.signals.memory_total = gib(100);
    rig.world.signals.memory_used = std::nullopt;
    CHECK(rig.decide().wishes.empty());
    rig.world.signals = NodeSignals{};
    CHECK(rig.decide().wishes.empty());
  }

  TEST_CASE("no eviction while the API server is away, and two new samples when it is back") {
    EvictRig rig;
    rig.add("a", gib(8));
    rig.api_ok = false;
    CHECK(rig.ticks(5, gib(75)).wishes.empty());
    CHECK(rig.state.phase == EvictPhase::kBlind);
    rig.api_ok = true;
    CHECK(rig.tick(gib(75)).wishes.empty());
    CHECK(rig.tick(gib(75)).wishes.size() == 1);
  }

  TEST_CASE("switched off: by the rule, by NodeSLO, by default") {
    EvictRig rig;
    rig.add("a", gib(8));
    rig.config.off = true;
    CHECK(rig.ticks(3, gib(90)).wishes.empty());
    CHECK(rig.state.phase == EvictPhase::kOff);
    rig.config = EffectiveConfig{};
    CHECK(rig.ticks(3, gib(90)).wishes.empty());
    CHECK(rig.state.phase == EvictPhase::kOff);
  }

  TEST_CASE("the wish is repeated until its outcome comes, on event ticks too") {
    EvictRig rig;
    rig.add("a", gib(4));
    rig.add("b", gib(5));
    rig.ticks(2, gib(75));
    REQUIRE(rig.victim() == "b");
    rig.usage["a"].memory = gib(9);  // would be the first now
    rig.tick(gib(75));
    CHECK(rig.victim() == "b");
    rig.world.wait(std::chrono::milliseconds{100});
    rig.world.sample(0, 0);
    rig.decide(false);
    CHECK(rig.victim() == "b");
    CHECK(rig.state.last_seq + 1 == rig.world.signals.seq);
    rig.remove("b");
    rig.tick(gib(75));
    CHECK(rig.victim() == "a");
  }

  TEST_CASE("event ticks count no samples") {
    EvictRig rig;
    rig.add("a", gib(8));
    for (int i = 0; i < 5; ++i) {
      rig.world.wait(std::chrono::milliseconds{100});
      rig.world.sample(0, 0);
      rig.world.signals.memory_used = gib(90);
      rig.measure_pods();
      CHECK(rig.decide(false).wishes.empty());
    }
    CHECK(rig.state.over == 0);
  }

  TEST_CASE("the wish ends with the need") {
    EvictRig rig;
    rig.add("a", gib(8));
    REQUIRE(rig.ticks(2, gib(75)).wishes.size() == 1);
    CHECK(rig.tick(gib(69)).wishes.empty());
    CHECK_FALSE(rig.state.asked.has_value());
  }

  TEST_CASE("pods that leave anyway count until their grace is over") {
    EvictRig rig;
    rig.add("a", gib(8));
    rig.add("leaving", gib(7)).terminating = true;
    CHECK(rig.ticks(3, gib(75)).wishes.empty());  // need 7 GiB, 7 GiB on the way out
    CHECK(rig.state.phase == EvictPhase::kReleasing);
    CHECK(rig.state.pending == gib(7));
    rig.ticks(27, gib(75));
    CHECK(rig.victim().empty());
    rig.tick(gib(75));  // the 31st
    CHECK(rig.victim() == "a");
  }

  TEST_CASE("a pod of any class that leaves counts; when it is too small the next one goes") {
    EvictRig rig;
    rig.add("a", gib(8));
    Pod& ls = rig.add("ls", gib(1));
    ls.qos = QosClass::kLs;
    ls.terminating = true;
    rig.ticks(2, gib(75));
    CHECK(rig.state.pending == gib(1));
    CHECK(rig.victim() == "a");
  }

  TEST_CASE("a node that BE cannot rescue is left alone, unless told otherwise") {
    EvictRig rig;
    rig.add("a", gib(2));
    rig.add("b", gib(3));
    CHECK(rig.ticks(3, gib(75)).wishes.empty());  // 75 - 5 = 70: still at the limit
    CHECK(rig.state.phase == EvictPhase::kHopeless);
    CHECK(rig.state.reachable == gib(5));
    rig.config.evict.require_rescue = false;
    CHECK(rig.tick(gib(75)).wishes.size() == 1);
    rig.config.evict.require_rescue = true;
    CHECK(rig.tick(Bytes{gib(75).v - 1}).wishes.size() == 1);
  }

  TEST_CASE("old samples of pods: asked for with the first sample over, not chosen by") {
    EvictRig rig;
    rig.add("a", gib(8));
    rig.tick(gib(60));
    const auto age = [&](seconds old) {
      rig.world.wait(seconds{1});
      rig.world.sample(0, 0);
      rig.world.signals.memory_used = gib(75);
      rig.usage["a"].at = rig.world.now - old;
      rig.decide();
    };
    age(seconds{11});
    CHECK(rig.answer.want_fresh_pods);
    age(seconds{11});
    CHECK(rig.victim().empty());
    CHECK(rig.state.phase == EvictPhase::kMeasuring);
    age(seconds{10});
    CHECK_FALSE(rig.answer.want_fresh_pods);
    CHECK(rig.victim() == "a");
  }

  TEST_CASE("a pod that cannot be measured holds the others up for 5 s only") {
    EvictRig rig;
    rig.add("a", gib(8));
    rig.add("b", std::nullopt);
    rig.ticks(5, gib(75));
    CHECK(rig.victim().empty());
    rig.tick(gib(75));
    CHECK(rig.victim() == "a");
  }

  TEST_CASE("a Pending pod without a sample is not waited for") {
    EvictRig rig;
    rig.add("a", gib(8));
    rig.add("b", std::nullopt).phase = PodPhase::kPending;
    CHECK(rig.ticks(2, gib(75)).wishes.size() == 1);
  }

  TEST_CASE("the wish says whose pod it is and why, with the numbers") {
    EvictRig rig;
    rig.add("a", gib(8));
    rig.add("b", gib(4));
    rig.ticks(2, gib(75));
    REQUIRE(rig.answer.wishes.size() == 1);
    const auto& wish = rig.answer.wishes[0];
    CHECK(wish.ns == "default");
    CHECK(wish.name == "a");
    CHECK(wish.plugin == "be_memory_evict");
    CHECK(wish.owner == "ReplicaSet default/rs-a");
    CHECK(wish.frees[EvictResource::kMemoryUsed] == gib(8).v);
    CHECK(wish.node_used == gib(75));
    CHECK(wish.since == rig.world.now - seconds{1});
    CHECK(wish.reason ==
          "node memory 75.00 % >= 70 %: 7.0 GiB over the lower mark 68 %, 0 B on the way out; this "
          "pod holds 8.0 GiB, first of 2 that hold 12.0 GiB");
  }

  TEST_CASE("sizes near the end of the range do not overflow") {
    EvictRig rig;
    const Bytes huge{std::numeric_limits<std::int64_t>::max()};
    rig.world.signals.memory_total = huge;
    rig.add("a", Bytes{huge.v / 2});
    rig.ticks(2, huge);
    CHECK(rig.victim() == "a");
    CHECK(rig.state.use_permyriad == 10'000);
  }

  TEST_CASE("bytes are shown in the unit that fits") {
    CHECK(bytes_text(Bytes{0}) == "0 B");
    CHECK(bytes_text(Bytes{1023}) == "1023 B");
    CHECK(bytes_text(Bytes{1536}) == "1.5 KiB");
    CHECK(bytes_text(Bytes{512ll << 20}) == "512.0 MiB");
    CHECK(bytes_text(gib(12)) == "12.0 GiB");
  }
}
