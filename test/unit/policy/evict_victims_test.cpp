#include "policy/evict_victims.hpp"

#include <algorithm>

#include <doctest/doctest.h>

#include "policy/evict_filter.hpp"
#include "unit/policy/evict_rig.hpp"

using namespace koordlet;
using namespace koordlet::policy;
using namespace koordlet::test;

namespace {

constexpr const char* kPriority = "koordinator.sh/eviction-priority";
constexpr const char* kPolicy = "koordinator.sh/eviction-policy";

/// Uids in the order of eviction.
std::string order(EvictRig& rig) {
  const auto snap = rig.snap();  // victims point into it
  EvictAmounts left;
  left[EvictResource::kMemoryUsed] = 1;
  const auto victims =
      find_victims(snap, rig.config, rig.state.ledger, EvictPlugin::kBeMemory, left);
  std::string out;
  for (const auto& c : victims.usable) out += c.pod->uid + " ";
  return out;
}

struct Rig : EvictRig {
  Pod& with(const std::string& uid, Bytes memory, std::optional<int> priority = {}) {
    Pod& pod = add(uid, memory, priority);
    measure_pods();
    return pod;
  }
  std::string_view exempt_of(const Pod& pod) const {
    return exempt(pod, config, EvictPlugin::kBeMemory);
  }
};

}  // namespace

TEST_SUITE("policy/evict victims") {
  TEST_CASE("EV-3: eviction priority, then priority, then the label") {
    Rig rig;
    rig.with("first", gib(1), 5500).labels["koordinator.sh/priority"] = "100";
    rig.with("second", gib(1), 5500).labels["koordinator.sh/priority"] = "50";
    rig.with("third", gib(1), 5900).annotations[kPriority] = "-1";
    rig.with("fourth", gib(1), 5000);
    CHECK(order(rig) == "third fourth second first ");
  }

  TEST_CASE("83: a pod without a sample does not break the order") {
    const Pod a = be_pod("A", std::nullopt), b = be_pod("B", std::nullopt);
    auto unknown = make_candidate(a), known = make_candidate(b);
    known.rank = 5;
    CHECK(goes_before(known, unknown));
    CHECK_FALSE(goes_before(unknown, known));
    CHECK_FALSE(goes_before(unknown, unknown));
  }

  TEST_CASE("of equal priority the larger goes first, of equal size the first by name") {
    Rig rig;
    rig.with("b", gib(2));
    rig.with("c", gib(2));
    rig.with("a", gib(1));
    rig.with("d", gib(3));
    CHECK(order(rig) == "d b c a ");
  }

  TEST_CASE("no priority counts as 5500, zero too") {
    Rig rig;
    rig.with("a", gib(1), 5501);
    rig.with("b", gib(2));
    rig.with("c", gib(3), 0);
    rig.with("d", gib(4), 5499);
    CHECK(order(rig) == "d c b a ");
  }

  TEST_CASE("an eviction priority or label that is no number counts as none") {
    Rig rig;
    rig.with("a", gib(1)).annotations[kPriority] = "-5000000000";
    rig.with("b", gib(2)).annotations[kPriority] = "low";
    rig.with("c", gib(3)).labels["koordinator.sh/priority"] = "";
    rig.with("d", gib(4)).annotations[kPriority] = "1";
    CHECK(order(rig) == "c b a d ");
  }

  TEST_CASE("the order is a strict weak one over all mixes of known and unknown") {
    std::vector<Pod> pods;
    for (const char* uid : {"a", "b", "c", "d"}) pods.push_back(be_pod(uid, std::nullopt));
    std::vector<EvictCandidate> all;
    for (const auto& pod : pods) {
      for (const auto priority : {5000, 5500}) {
        for (const auto rank : {std::optional<std::int64_t>{},
                                std::optional<std::int64_t>{0},
                                std::optional<std::int64_t>{7}}) {
          auto c = make_candidate(pod);
          c.priority = priority;
          c.rank = rank;
          all.push_back(c);
        }
      }
    }
    for (const auto& x : all) {
      CHECK_FALSE(goes_before(x, x));
      for (const auto& y : all) {
        if (goes_before(x, y)) CHECK_FALSE(goes_before(y, x));
        for (const auto& z : all) {
          if (goes_before(x, y) && goes_before(y, z)) CHECK(goes_before(x, z));
        }
      }
    }
  }

  TEST_CASE("pods that are no victims, whatever they use") {
    Rig rig;
    const Pod plain = rig.with("plain", gib(1));
    CHECK(rig.exempt_of(plain).empty());
    const auto with = [&](auto change) {
      Pod pod = plain;
      change(pod);
      return rig.exempt_of(pod);
    };
    CHECK(with([](Pod& p) { p.qos = QosClass::kLs; }) == "not BE");
    CHECK(with([](Pod& p) { p.qos = QosClass::kSystem; }) == "not BE");
    CHECK(with([](Pod& p) {
            p.qos = QosClass::kNone;
            p.kube_qos = KubeQos::kBurstable;
          }) == "not BE");
    CHECK(with([](Pod& p) { p.annotations["kubernetes.io/config.mirror"] = "x"; }) == "static pod");
    CHECK(with([](Pod& p) { p.annotations["kubernetes.io/config.source"] = "file"; }) ==
          "static pod");
    CHECK(with([](Pod& p) { p.annotations["kubernetes.io/config.source"] = "api"; }).empty());
    CHECK(with([](Pod& p) { p.owner->kind = "DaemonSet"; }) ==
          "would come back to this node at once");
    CHECK_FALSE(with([](Pod& p) { p.owner->kind = "Node"; }).empty());
    CHECK(with([](Pod& p) { p.owner.reset(); }).empty());
    CHECK(with([](Pod& p) { p.priority = 2'000'000'000; }) == "critical priority");
    CHECK(with([](Pod& p) { p.priority = 1'999'999'999; }).empty());
  }

  TEST_CASE("a label of any kube class makes a pod BE; BestEffort without one only when told") {
    Rig rig;
    Pod& labelled = rig.with("labelled", gib(1));
    labelled.kube_qos = KubeQos::kBurstable;
    Pod& bare = rig.with("bare", gib(1));
    bare.qos = QosClass::kNone;
    Pod& stranger = rig.with("stranger", gib(1));
    stranger.qos = QosClass::kLs;
    stranger.kube_qos = KubeQos::kBestEffort;
    CHECK(order(rig) == "labelled ");
    rig.config.evict.include_kube_best_effort = true;
    CHECK(order(rig) == "bare labelled ");
  }

  TEST_CASE("eviction-policy: names the feature, or another, or is no list") {
    struct Case {
      const char* text;
      bool want;
    };
    for (const auto& c : {Case{R"(["BEMemoryEvict"])", true},
                          Case{R"( [ "BECPUEvict" , "BEMemoryEvict" ] )", true},
                          Case{R"(["BE\u004demoryEvict"])", false},
                          Case{R"(["a\"b\\c\/d\n","BEMemoryEvict"])", true},
                          Case{R"(["BECPUEvict"])", false},
                          Case{"[]", false},
                          Case{"", false},
                          Case{"BEMemoryEvict", false},
                          Case{R"("BEMemoryEvict")", false},
                          Case{R"(["BEMemoryEvict")", false},
                          Case{R"(["BEMemoryEvict",])", false},
                          Case{R"(["BEMemoryEvict"] x)", false},
                          Case{R"(["BEMemoryEvict", 7])", false},
                          Case{R"(["BEMemoryEvict", "\x"])", false},
                          Case{R"(["BEMemoryEvict", "\u12"])", false},
                          Case{"[\"BEMemoryEvict\", \"\n\"]", false},
                          Case{R"(["BEMemoryEvict", "\)", false}}) {
      CAPTURE(c.text);
      Pod pod = be_pod("a", std::nullopt);
      pod.annotations[kPolicy] = c.text;
      CHECK(policy_allows(pod, "BEMemoryEvict") == c.want);
    }
    CHECK(policy_allows(be_pod("a", std::nullopt), "BEMemoryEvict"));
    CHECK(parse_names("[]").value().empty());
  }

  TEST_CASE("hands off is obeyed only where it is allowed") {
    Rig rig;
    Pod& pod = rig.with("a", gib(1));
    pod.annotations["koordinator.sh/qos-hands-off"] = "true";
    CHECK(order(rig) == "a ");
    rig.config.hands_off_namespaces = {"kube-system", "default"};
    CHECK(order(rig).empty());
    pod.annotations["koordinator.sh/qos-hands-off"] = "false";
    CHECK(order(rig) == "a ");
  }

  TEST_CASE("ended and leaving pods are no victims, and are not measured") {
    Rig rig;
    rig.with("a", gib(1)).phase = PodPhase::kSucceeded;
    rig.with("b", gib(1)).phase = PodPhase::kFailed;
    rig.with("c", gib(1)).terminating = true;
    rig.world.wait(std::chrono::seconds{60});
    const auto snap = rig.snap();  // victims point into it
    EvictAmounts left;
    left[EvictResource::kMemoryUsed] = 1;
    const auto victims =
        find_victims(snap, rig.config, rig.state.ledger, EvictPlugin::kBeMemory, left);
    CHECK(victims.usable.empty());
    CHECK(victims.stale == 0);
  }
}
