#include "policy/evict_ledger.hpp"

#include <doctest/doctest.h>

#include "unit/policy/evict_rig.hpp"

using namespace koordlet;
using namespace koordlet::policy;
using namespace koordlet::test;
using std::chrono::seconds;

namespace {

/// Ticks until somebody is named; how many it took, or `most` when nobody is.
int ticks_until_victim(EvictRig& rig, Bytes used, int most = 700) {
  for (int i = 1; i <= most; ++i) {
    rig.tick(used);
    if (!rig.victim().empty()) return i;
  }
  return most;
}

/// A pod of the owner "ReplicaSet default/web", as its controller makes it again and again.
void add_web(EvictRig& rig, int number) {
  rig.add("web-" + std::to_string(number), gib(8)).owner = PodOwner{"ReplicaSet", "web", "o1"};
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_SUITE("policy/evict limits") {
  TEST_CASE("89: three evictions of one owner in 10 minutes: it is left alone and marked") {
    EvictRig rig;
    for (int i = 0; i < 3; ++i) {
      add_web(rig, i);
      Bytes used = gib(75);
      CHECK(rig.evict(used) == "web-" + std::to_string(i));
      rig.ticks(2, gib(60));  // it helped, for a moment
    }
    add_web(rig, 3);
    CHECK(rig.ticks(3, gib(75)).wishes.empty());
    CHECK(rig.state.phase == EvictPhase::kHeld);
    const auto& owner = rig.state.ledger.owners.at("ReplicaSet default/web");
    REQUIRE(owner.hold.has_value());
    CHECK(owner.hold->length == seconds{600});
    CHECK(contains(owner.hold->why, "lost 3 pods in 10 minutes"));
    rig.add("other", gib(8));
    rig.tick(gib(75));
    CHECK(rig.victim() == "other");
  }

  TEST_CASE("the hold of an owner doubles the next time") {
    EvictRig rig;
    rig.config.evict.node_max_evictions = 1000;
    int number = 0;
    for (const int hold : {600, 1200, 2400, 4800, 4800}) {
      CAPTURE(hold);
      for (int i = 0; i < 3; ++i) {
        add_web(rig, number++);
        Bytes used = gib(75);
        REQUIRE_FALSE(rig.evict(used).empty());
        rig.ticks(2, gib(60));
      }
      const auto& owner = rig.state.ledger.owners.at("ReplicaSet default/web");
      REQUIRE(owner.hold.has_value());
      CHECK(owner.hold->length == seconds{hold});
      rig.world.wait(seconds{hold});
    }
  }

  TEST_CASE("evictions of one owner that lie far apart are no storm") {
    EvictRig rig;
    for (int i = 0; i < 6; ++i) {
      add_web(rig, i);
      Bytes used = gib(75);
      CHECK(rig.evict(used) == "web-" + std::to_string(i));
      rig.ticks(2, gib(60));
      rig.world.wait(seconds{300});
    }
  }

  TEST_CASE("the node's own bound: no more than so many in 10 minutes") {
    EvictRig rig;
    rig.config.evict.node_max_evictions = 2;
    for (const char* uid : {"a", "b", "c"}) rig.add(uid, gib(8));
    for (int i = 0; i < 2; ++i) {
      Bytes used = gib(75);
      CHECK_FALSE(rig.evict(used).empty());
      rig.ticks(2, used);  // its memory shows
    }
    rig.ticks(5, gib(75));
    CHECK(rig.victim().empty());
    CHECK(rig.state.phase == EvictPhase::kHeld);
    CHECK(contains(rig.state.why, "2 evictions on this node in 10 minutes"));
    rig.world.wait(seconds{600});
    rig.ticks(2, gib(75));
    CHECK(rig.victim() == "c");
  }

  TEST_CASE(
      "a budget refuses: the next candidate at once, the first after 10, 20, 40 s up to 300") {
    EvictRig rig;
    rig.add("a", gib(9));
    rig.add("b", gib(8));
    rig.ticks(2, gib(75));
    REQUIRE(rig.victim() == "a");
    rig.answered(EvictionResult::kRefused);
    rig.tick(gib(75));
    CHECK(rig.victim() == "b");
    CHECK(rig.state.ledger.node.empty());  // 85: nothing was released, nothing is counted
    CHECK(rig.state.pending == Bytes{0});
    rig.remove("b");
    rig.tick(gib(75));
    CHECK(rig.victim().empty());
    CHECK(rig.state.phase == EvictPhase::kHeld);
    // The refusal came 2 s ago: 8 s are left.
    CHECK(ticks_until_victim(rig, gib(75)) == 8);
    for (const int hold : {20, 40, 80, 160, 300, 300}) {
      CAPTURE(hold);
      rig.answered(EvictionResult::kRefused);
      CHECK(ticks_until_victim(rig, gib(75)) == hold);
    }
  }

  TEST_CASE("the server's own wait counts when it is longer, up to 5 minutes") {
    EvictRig rig;
    rig.add("a", gib(8));
    rig.ticks(2, gib(75));
    auto refused = rig.outcome(EvictionResult::kRefused);
    refused.retry_after = seconds{60};
    rig.outcomes.push_back(refused);
    CHECK(ticks_until_victim(rig, gib(75)) == 60);
    refused = rig.outcome(EvictionResult::kRefused);
    refused.retry_after = seconds{86'400};
    rig.outcomes.push_back(refused);
    CHECK(ticks_until_victim(rig, gib(75)) == 300);
  }

  TEST_CASE("a server that cannot or does not answer holds the whole node, rising") {
    for (const auto result :
         {EvictionResult::kFailed, EvictionResult::kForbidden, EvictionResult::kUnreachable}) {
      CAPTURE(to_string(result));
      EvictRig rig;
      for (const char* uid : {"a", "b", "c", "d"}) rig.add(uid, gib(8));
      rig.ticks(2, gib(75));
      for (const int hold : {10, 20, 40}) {
        CAPTURE(hold);
        REQUIRE_FALSE(rig.victim().empty());
        rig.answered(result);
        rig.tick(gib(75));
        CHECK(rig.victim().empty());
        CHECK(rig.state.phase == EvictPhase::kHeld);
        CHECK(ticks_until_victim(rig, gib(75)) == hold - 1);
      }
    }
  }

  TEST_CASE("pods that the server cannot evict do not keep the others from their turn") {
    EvictRig rig;
    rig.config.evict.require_rescue = false;
    rig.add("a", gib(9));
    rig.add("b", gib(8));
    rig.add("c", gib(7));
    rig.tick(gib(75));
    std::string asked;
    for (int i = 0; i < 5; ++i) {
      ticks_until_victim(rig, gib(75));
      asked += rig.victim() + " ";
      rig.answered(EvictionResult::kFailed);  // two budgets on one pod are a 500, for ever
    }
    CHECK(asked == "a b a b c ");
  }

  TEST_CASE("one answer that is plain ends the hold of the node") {
    EvictRig rig;
    rig.add("a", gib(9));
    rig.add("b", gib(8));
    rig.add("c", gib(8));
    rig.ticks(2, gib(75));
    rig.answered(EvictionResult::kFailed);
    CHECK(ticks_until_victim(rig, gib(75)) == 10);
    REQUIRE(rig.victim() == "b");
    rig.answered(EvictionResult::kRefused);
    CHECK(ticks_until_victim(rig, gib(75)) == 1);
    CHECK(rig.victim() == "c");
    CHECK_FALSE(rig.state.ledger.node_hold.has_value());
  }

  TEST_CASE("a pod that was gone already costs nothing but is not asked again at once") {
    for (const auto result : {EvictionResult::kGone, EvictionResult::kNotSame}) {
      EvictRig rig;
      rig.add("a", gib(9));
      rig.add("b", gib(8));
      rig.ticks(2, gib(75));
      rig.answered(result);
      rig.tick(gib(75));
      CHECK(rig.victim() == "b");
      CHECK(rig.state.ledger.node.empty());
      CHECK(rig.state.ledger.owners.empty());
    }
  }

  TEST_CASE("160: a pod that left between the choice and the act: the next one is named") {
    EvictRig rig;
    rig.add("a", gib(9));
    rig.add("b", gib(8));
    rig.ticks(2, gib(75));
    rig.answered(EvictionResult::kDropped);
    rig.remove("a");
    rig.tick(gib(75));
    CHECK(rig.victim() == "b");
    CHECK(rig.state.ledger == EvictionLedger{});
  }

  TEST_CASE("94: a victim that is still there after its grace is passed over, the next one goes") {
    EvictRig rig;
    rig.add("dead", gib(9));
    rig.add("next", gib(8));
    rig.ticks(2, gib(75));
    REQUIRE(rig.victim() == "dead");
    rig.answered(EvictionResult::kAccepted);
    CHECK(ticks_until_victim(rig, gib(75)) == 30);
    CHECK(rig.victim() == "next");
    CHECK(rig.state.ledger.pods.at("dead").length == seconds{300});
  }

  TEST_CASE("94: an owner whose victim left while the use did not fall is passed over") {
    EvictRig rig;
    add_web(rig, 1);
    add_web(rig, 2);
    rig.add("other", gib(7));
    Bytes used = gib(75);
    CHECK(rig.evict(used) == "web-1");
    rig.ticks(9, gib(75));  // it may still be on its way
    CHECK(rig.victim().empty());
    CHECK(rig.state.phase == EvictPhase::kReleasing);
    rig.ticks(2, gib(75));  // 10 s: it is elsewhere, or came straight back
    CHECK(rig.victim() == "other");
    CHECK(
        contains(rig.state.ledger.owners.at("ReplicaSet default/web").hold->why, "freed nothing"));
  }

  TEST_CASE("an owner whose victim did help may lose another one") {
    EvictRig rig;
    add_web(rig, 1);
    add_web(rig, 2);
    Bytes used = gib(80);
    CHECK(rig.evict(used) == "web-1");
    rig.ticks(3, used);
    CHECK(rig.victim().empty());  // the cool-down of memory is 4 s
    CHECK(rig.state.phase == EvictPhase::kHeld);
    rig.tick(used);
    CHECK(rig.victim() == "web-2");
  }

  TEST_CASE("after an eviction two new samples are needed, both from after the pod has left") {
    EvictRig rig;
    rig.add("a", gib(8));
    rig.add("b", gib(8));
    rig.ticks(2, gib(77));
    rig.answered(EvictionResult::kAccepted);
    rig.ticks(4, gib(77));
    rig.remove("a");
    CHECK(rig.tick(gib(73)).wishes.empty());
    CHECK(rig.state.over == 1);
    CHECK(rig.tick(gib(73)).wishes.size() == 1);
  }

  TEST_CASE(
      "94: a victim gone from the API whose memory does not show yet is still on its way out") {
    EvictRig rig;
    rig.add("a", gib(8));
    rig.add("b", gib(8));
    rig.ticks(2, gib(75));
    REQUIRE(rig.victim() == "a");
    rig.answered(EvictionResult::kAccepted);
    rig.remove("a");  // grace period 0: its processes live on for a while
    rig.ticks(6, gib(75));
    CHECK(rig.victim().empty());
    CHECK(rig.state.phase == EvictPhase::kReleasing);
    rig.ticks(5, gib(67));  // under the threshold: one was enough
    CHECK(rig.victim().empty());
    CHECK(rig.state.ledger.left.empty());
    CHECK(rig.state.ledger.node.size() == 1);
  }

  TEST_CASE(
      "less than half of what a victim held has come back: wait on, then go on without blame") {
    EvictRig rig;
    add_web(rig, 1);
    add_web(rig, 2);
    Bytes used = gib(75);
    CHECK(rig.evict(used) == "web-1");
    rig.ticks(9, gib(74));
    CHECK(rig.victim().empty());
    rig.ticks(2, gib(74));
    CHECK(rig.victim() == "web-2");
    CHECK_FALSE(rig.state.ledger.owners.at("ReplicaSet default/web").hold.has_value());
  }

  TEST_CASE("a dry run names one victim a minute and counts none") {
    EvictRig rig;
    rig.add("a", gib(8));
    rig.ticks(2, gib(75));
    for (int i = 0; i < 3; ++i) {
      rig.answered(EvictionResult::kDryRun);
      CHECK(ticks_until_victim(rig, gib(75)) == 60);
      CHECK(rig.victim() == "a");
    }
    CHECK(rig.state.ledger.node.empty());
  }

  TEST_CASE("limits survive being switched off and on") {
    EvictRig rig;
    rig.config.evict.node_max_evictions = 1;
    rig.add("a", gib(8));
    rig.add("b", gib(8));
    Bytes used = gib(75);
    rig.evict(used);
    rig.config.memory_evict.enable = false;
    rig.tick(gib(75));
    CHECK(rig.state.ledger.node.size() == 1);
    rig.config.memory_evict.enable = true;
    rig.ticks(5, gib(75));
    CHECK(rig.victim().empty());
  }

  TEST_CASE("outcomes of another plugin are not ours") {
    EvictRig rig;
    rig.add("a", gib(8));
    rig.ticks(2, gib(75));
    auto other = rig.outcome(EvictionResult::kRefused);
    other.wish.plugin = "another";
    rig.outcomes.push_back(other);
    rig.tick(gib(75));
    CHECK(rig.victim() == "a");
  }

  TEST_CASE("what no longer matters is forgotten") {
    EvictRig rig;
    rig.add("leaving", gib(1)).terminating = true;
    for (int i = 0; i < 3; ++i) {
      add_web(rig, i);
      Bytes used = gib(75);
      rig.evict(used);
    }
    rig.add("refused", gib(9));
    rig.ticks(2, gib(75));
    rig.answered(EvictionResult::kRefused);
    rig.tick(gib(60));
    CHECK_FALSE(rig.state.ledger == EvictionLedger{});
    rig.remove("leaving");
    rig.world.wait(std::chrono::hours{4});
    rig.tick(gib(60));
    CHECK(rig.state.ledger == EvictionLedger{});
  }

  TEST_CASE("the owner of a pod by its controller, or the pod itself") {
    Pod pod = be_pod("one", std::nullopt);
    CHECK(owner_text(pod) == "pod default/one");
    pod.owner = PodOwner{"Job", "sort", "u"};
    CHECK(owner_text(pod) == "Job default/sort");
  }
}
