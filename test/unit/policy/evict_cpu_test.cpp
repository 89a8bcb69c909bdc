#include <algorithm>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "policy/evict.hpp"
#include "unit/policy/evict_rig.hpp"

using namespace koordlet;
using namespace koordlet::policy;
using namespace koordlet::test;
using std::chrono::seconds;
using R = EvictResource;

namespace {

constexpr const char* kEnabled = "koordinator.sh/eviction-enabled";

/// The rig on a node of 64 cores, memory at rest, with one of the other rules on.
struct Rig : EvictRig {
  std::int64_t ls = 0, be = 0;

  Rig(EvictPlugin rule, R what) {
    config.memory_evict.enable = false;
    plugin = rule;
    resource = what;
    config.evict.priority_threshold = 7999;
    config.evict.allocatable_priority_threshold = 7999;
  }
  /// A pod that may be evicted by the rules that go by priority.
  Pod& offer(const std::string& uid, std::int64_t cpu, std::optional<int> priority = 5500) {
    Pod& pod = add(uid, gib(1), priority);
    pod.labels[kEnabled] = "true";
    usage[uid].cpu = MilliCpu{cpu};
    return pod;
  }
  void second() {
    world.wait(seconds{1});
    world.sample(ls, be);
    world.signals.memory_used = gib(10);
    measure_pods();
    decide();
  }
  /// Seconds until somebody is named; `most` when nobody is.
  int until_victim(int most) {
    for (int i = 1; i <= most; ++i) {
      second();
      if (!victim().empty()) return i;
    }
    return most;
  }
  void take_and_remove() {
    const auto uid = victim();
    answered(EvictionResult::kAccepted);
    answer.wishes.clear();
    remove(uid);
  }
};

struct CpuRig : Rig {
  CpuRig() : Rig{EvictPlugin::kCpu, R::kCpuUsed} {
    config.cpu_evict.enable = true;
    config.cpu_evict.threshold_percent = 80;
    config.cpu_evict.whole_percent = true;
  }
};

struct BeCpuRig : Rig {
  BeCpuRig() : Rig{EvictPlugin::kBeCpu, R::kBatchCpu} {
    config.be_cpu_evict.enable = true;
    config.be_cpu_evict.lower_percent = 45;
    config.be_cpu_evict.upper_percent = 70;
    world.be_root->cpu_max = quota(2'700'000);
    be = 25'000;
  }
  Pod& batch(const std::string& uid, std::int64_t request, std::int64_t used) {
    Pod& pod = add(uid, gib(1));
    pod.containers.front().requests.batch_cpu = MilliCpu{request};
    usage[uid].cpu = MilliCpu{used};
    return pod;
  }
};

struct AllocatableRig : Rig {
  AllocatableRig() : Rig{EvictPlugin::kCpuAllocatable, R::kBatchCpu} {
    config.cpu_allocatable_evict.enable = true;
    world.node.batch_cpu_allocatable = MilliCpu{20'000};
  }
  Pod& batch(const std::string& uid, std::int64_t request) {
    Pod& pod = offer(uid, 100);
    pod.containers.front().requests.batch_cpu = MilliCpu{request};
    return pod;
  }
};

}  // namespace

TEST_SUITE("policy/evict CPU") {
  TEST_CASE("CEV-4: need 1920 m, victims that use 1200 and 900 m both go, one after the other") {
    CpuRig rig;
    rig.config.evict.require_rescue = false;
    rig.offer("a", 1200);
    rig.offer("b", 900);
    rig.ls = 52'300;
    // The first sample says nothing of its length; then 20 s fill a third of the window, and a
    // second sample over it confirms.
    CHECK(rig.until_victim(60) == 22);
    CHECK(rig.state.need == Bytes{1920});
    CHECK(rig.state.use_permyriad == 8171);
    CHECK(rig.victim() == "a");
    rig.take_and_remove();
    // Nothing from before it left is averaged any more, so a third of the window has to fill again.
    CHECK(rig.until_victim(60) == 21);
    CHECK(rig.victim() == "b");
  }

  TEST_CASE("one burst of CPU is not the mean of the window") {
    CpuRig rig;
    rig.offer("a", 60'000);
    for (int i = 0; i < 60; ++i) {
      rig.ls = i % 2 == 0 ? 64'000 : 10'000;
      rig.second();
    }
    CHECK(rig.state.phase == EvictPhase::kIdle);
  }

  TEST_CASE("without the label, above the threshold or without use a pod is no victim") {
    CpuRig rig;
    rig.config.evict.require_rescue = false;
    rig.offer("unlabelled", 20'000).labels.erase(kEnabled);
    rig.offer("too-high", 20'000, 8000);
    rig.offer("idle", 9);
    rig.ls = 60'000;
    CHECK(rig.until_victim(40) == 40);
    CHECK(rig.state.phase == EvictPhase::kNoVictim);
    rig.offer("ls", 5000, 7999).qos = QosClass::kLs;  // the class does not matter here
    CHECK(rig.until_victim(10) == 1);
    CHECK(rig.victim() == "ls");
  }

  TEST_CASE("after the start the CPU rules wait for 20 s, the memory rules for 4 s") {
    CpuRig rig;
    rig.engine.started.reset();
    rig.config.evict.cpu_window_seconds = 3;
    rig.config.evict.memory_cooldown_seconds = 4;
    rig.offer("a", 20'000);
    rig.ls = 60'000;
    CHECK(rig.until_victim(60) == 21);  // started with the first of them
    EvictRig memory;
    memory.engine.started.reset();
    memory.add("a", gib(8));
    int count = 0;
    while (memory.victim().empty() && count < 60) {
      memory.tick(gib(75));
      ++count;
    }
    CHECK(count == 5);
  }

  TEST_CASE("CEV-1: BE gets 27 of 90 cores and uses them: the busiest per request goes first") {
    BeCpuRig rig;
    rig.batch("half", 40'000, 9000);
    rig.batch("busy", 10'000, 9000);
    rig.batch("big", 40'000, 7000);
    CHECK(rig.until_victim(60) == 22);
    CHECK(rig.state.need == Bytes{36'000});
    CHECK(rig.victim() == "busy");
    CHECK(rig.answer.wishes[0].frees[R::kBatchCpu] == 10'000);
  }

  TEST_CASE("a limit of BE that nobody set is none: blind, not zero") {
    BeCpuRig rig;
    rig.batch("a", 90'000, 9000);
    rig.world.be_root->cpu_max = CpuMax{};
    CHECK(rig.until_victim(40) == 40);
    CHECK(rig.state.phase == EvictPhase::kBlind);
  }

  TEST_CASE("CEV-5: 24 cores requested of 20: 4 too many; 22 are not more than 110 %") {
    AllocatableRig rig;
    rig.batch("a", 12'000);
    rig.batch("b", 12'000);
    CHECK(rig.until_victim(10) == 2);
    CHECK(rig.state.need == Bytes{4000});
    rig.pod("b").containers.front().requests.batch_cpu = MilliCpu{10'000};
    rig.second();
    CHECK(rig.state.phase == EvictPhase::kIdle);
  }

  TEST_CASE("pods that contribute nothing are never chosen, whatever their priority") {
    AllocatableRig rig;
    rig.batch("a", 24'000);
    rig.offer("free", 5000, 3500);  // free class, no request of batch-cpu
    Pod& mid = rig.offer("mid", 100, 7500);
    mid.containers.front().requests.mid_cpu = MilliCpu{1000};
    CHECK(rig.until_victim(10) == 2);
    CHECK(rig.victim() == "a");
    rig.take_and_remove();
    CHECK(rig.until_victim(60) == 60);
    CHECK(rig.state.phase == EvictPhase::kIdle);
  }

  TEST_CASE("a resource that the node does not offer at all is unknown, not zero") {
    AllocatableRig rig;
    rig.batch("a", 24'000);
    rig.world.node.batch_cpu_allocatable.reset();
    CHECK(rig.until_victim(10) == 10);
    rig.world.node.batch_cpu_allocatable = MilliCpu{0};
    CHECK(rig.until_victim(10) == 2);
    CHECK(rig.state.need == Bytes{24'000});
  }

  TEST_CASE("MEV-3: 50 GiB of batch-memory requested of 40: 10 too many") {
    Rig rig{EvictPlugin::kMemoryAllocatable, R::kBatchMemory};
    rig.config.memory_allocatable_evict.enable = true;
    rig.world.node.batch_memory_allocatable = gib(40);
    for (const char* uid : {"a", "b"}) {
      rig.offer(uid, 100).containers.front().requests.batch_memory = gib(25);
    }
    CHECK(rig.until_victim(10) == 2);
    CHECK(rig.state.need == gib(10));
  }
}

TEST_SUITE("policy/evict together") {
  TEST_CASE("EV-1: two rules that lack 3 GiB: what the first frees counts for the second") {
    EvictRig rig;
    rig.config.memory_evict.by_priority = true;
    rig.config.evict.priority_threshold = 9000;
    rig.config.memory_evict.lower_percent = 68;
    rig.add("p1", gib(1), 5000);
    rig.add("p2", gib(2), 5500).labels[kEnabled] = "true";
    Pod& p3 = rig.add("p3", gib(5), 5600);
    p3.qos = QosClass::kLs;
    p3.labels[kEnabled] = "true";
    rig.config.evict.require_rescue = false;
    Bytes used = gib(71);
    CHECK(rig.evict(used) == "p1");
    CHECK(rig.evict(used) == "p2");
    CHECK(used == gib(68));
    CHECK(rig.ticks(20, used).wishes.empty());  // p3 stays
  }

  TEST_CASE("pitfall 158: 20 BE pods where one is enough: exactly one within a minute") {
    EvictRig rig;
    rig.config.memory_evict.by_priority = true;
    rig.config.evict.priority_threshold = 9000;
    for (int i = 0; i < 20; ++i) {
      rig.add(fmt::format("p{:02}", i), gib(4)).labels[kEnabled] = "true";
    }
    Bytes used = gib(71);
    int accepted = 0, leaves = -1;
    std::string uid;
    for (int i = 0; i < 60; ++i) {
      if (i == leaves) {  // it takes 12 s to stop
        used -= gib(4);
        rig.remove(uid);
      }
      rig.tick(used);
      if (rig.victim().empty()) continue;
      ++accepted;
      uid = rig.victim();
      leaves = i + 12;
      rig.answered(EvictionResult::kAccepted);
    }
    CHECK(accepted == 1);
  }

  TEST_CASE("the order in which the rules are judged makes no difference") {
    CpuRig rig;
    rig.config.memory_evict.enable = rig.config.memory_evict.by_priority = true;
    rig.config.cpu_allocatable_evict.enable = rig.config.be_cpu_evict.enable = true;
    rig.config.memory_allocatable_evict.enable = true;
    rig.config.evict.require_rescue = false;
    rig.world.node.batch_cpu_allocatable = MilliCpu{1000};
    rig.world.be_root->cpu_max = quota(100'000);
    for (const char* uid : {"a", "b", "c"}) {
      rig.offer(uid, 9000).containers.front().requests.batch_cpu = MilliCpu{9000};
    }
    rig.ls = 60'000;
    rig.be = 2000;
    for (int i = 0; i < 30; ++i) rig.second();
    for (const auto used : {gib(10), gib(90)}) {
      rig.world.wait(seconds{1});
      rig.world.sample(60'000, 2000);
      rig.world.signals.memory_used = used;
      rig.measure_pods();
      const auto snap = rig.snap();
      std::array<EvictPlugin, kEvictPlugins> order = kAllEvictPlugins;
      const auto first = Evict::decide(snap, rig.config, {true, {}}, rig.engine, order);
      REQUIRE(first.wishes.size() == 1);
      while (std::next_permutation(order.begin(), order.end())) {
        const auto other = Evict::decide(snap, rig.config, {true, {}}, rig.engine, order);
        REQUIRE(other.wishes == first.wishes);
        REQUIRE(other.state == first.state);
      }
      rig.engine = first.state;
    }
  }

  TEST_CASE("a victim of a CPU rule does not keep memory from being freed") {
    CpuRig rig;
    rig.config.memory_evict.enable = true;
    rig.offer("slow", 20'000, 5000);
    rig.add("hog", gib(9), 5500);
    rig.usage["slow"].memory = Bytes{2 << 20};
    rig.ls = 60'000;
    REQUIRE(rig.until_victim(60) < 60);
    REQUIRE(rig.victim() == "slow");
    rig.answered(EvictionResult::kAccepted);
    rig.tick(gib(75));
    rig.tick(gib(75));
    CHECK(rig.victim() == "hog");
    CHECK(rig.answer.wishes[0].plugin == "be_memory_evict");
  }

  TEST_CASE("of one pod: candidate, or why not") {
    EvictRig rig;
    rig.config.evict.priority_threshold = 5000;
    Pod& pod = rig.add("a", gib(1), 5500);
    rig.measure_pods();
    const auto why = [&rig](EvictPlugin plugin) {
      const auto snap = rig.snap();
      return why_no_victim(*snap.state->pods.front(), snap, rig.config, rig.state.ledger, plugin);
    };
    CHECK(why(EvictPlugin::kBeMemory).empty());
    CHECK(why(EvictPlugin::kBeCpu) == "it holds nothing of what this rule frees");
    CHECK(why(EvictPlugin::kMemory) ==
          "without the label koordinator.sh/eviction-enabled: \"true\"");
    pod.labels[kEnabled] = "true";
    CHECK(why(EvictPlugin::kMemory) == "its priority is above the threshold");
    rig.usage.clear();
    CHECK(why(EvictPlugin::kBeMemory) == "its use was not measured within 10 s");
    pod.terminating = true;
    CHECK(why(EvictPlugin::kBeMemory) == "it is on its way out");
  }
}
