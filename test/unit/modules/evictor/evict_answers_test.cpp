#include <set>
#include <string>

#include <doctest/doctest.h>

#include "modules/evictor/evictor.hpp"
#include "support/async.hpp"
#include "support/manual_clock.hpp"
#include "unit/k8s/api_script.hpp"
#include "unit/policy/evict_rig.hpp"

using namespace koordlet;
using namespace koordlet::test;
using std::chrono::seconds;

namespace {

/// What the server says of a pod that is not there.
const std::string kNoPodA =
    R"({"kind": "Status", "code": 404, "reason": "NotFound", "message": "pods \"a\" not found",
        "details": {"name": "a", "kind": "pods"}})";

/// The rules and the evictor together: what an API server says to the wish comes back to them.
struct Bed {
  boost::asio::io_context io;
  ManualClock clock;
  ApiScript script;
  ApiScript event_script;
  k8s::EventRecorder events{io.get_executor(), event_script.caller(), {}, clock};
  EvictRig rig;
  Evictor evictor{io.get_executor(),
                  script.caller(),
                  events,
                  [this](std::string_view uid) { return has(uid); },
                  clock,
                  {}};

  Bed() {
    script.answer(200, kCoreResources);
    rig.add("a", gib(9));
    rig.add("b", gib(8));
  }
  bool has(std::string_view uid) const {
    for (const auto& pod : rig.world.pods) {
      if (pod.uid == uid) return true;
    }
    return false;
  }
  /// One second: the rules decide, the evictor acts if there is a wish.
  std::string second(Bytes used = gib(75)) {
    rig.outcomes = evictor.take_outcomes();
    // The evictor stamps with its own clock; the rules live in the rig's time.
    for (auto& o : rig.outcomes) o.at = rig.world.now;
    rig.tick(used);
    evictor.submit(rig.answer.wishes);
    return rig.victim();
  }
  void act() { CHECK(run(io, evictor.step())); }
};

}  // namespace

TEST_SUITE("evictor/answers") {
  TEST_CASE("409 of another pod and 404: the next pod is named in the next second") {
    for (const unsigned status : {404u, 409u}) {
      CAPTURE(status);
      Bed bed;
      bed.second();
      REQUIRE(bed.second() == "a");
      bed.script.answer(status, status == 404 ? kNoPodA : "");
      bed.act();
      CHECK(bed.second() == "b");
      CHECK(bed.rig.state.ledger.node.empty());
    }
  }

  TEST_CASE("85: 429 of a budget: nothing counts as released, the next pod is asked") {
    Bed bed;
    bed.second();
    REQUIRE(bed.second() == "a");
    bed.script.answer(429, kBudget);
    bed.act();
    CHECK(bed.second() == "b");
    CHECK(bed.rig.state.pending == Bytes{0});
    CHECK(bed.rig.state.ledger.victims.empty());
  }

  TEST_CASE("500: nobody is asked for 10 s, then another pod") {
    Bed bed;
    bed.second();
    REQUIRE(bed.second() == "a");
    bed.script.answer(500);
    bed.act();
    for (int i = 0; i < 9; ++i) CHECK(bed.second().empty());
    CHECK(bed.second() == "b");
  }

  TEST_CASE("160: the pod left between choice and act: no call, no crash, the next one") {
    Bed bed;
    bed.second();
    REQUIRE(bed.second() == "a");
    bed.rig.remove("a");
    bed.act();
    CHECK(bed.script.calls().empty());
    CHECK(bed.second() == "b");
  }

  TEST_CASE("201: counted by rule and outcome, and nobody else until it has left") {
    Bed bed;
    bed.second();
    REQUIRE(bed.second() == "a");
    bed.script.answer(201);
    bed.act();
    for (int i = 0; i < 20; ++i) CHECK(bed.second().empty());
    CHECK(bed.evictor.status().by_plugin.at("be_memory_evict")[0] == 1);
  }
}
