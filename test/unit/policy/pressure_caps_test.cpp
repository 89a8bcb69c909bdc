#include <random>

#include <doctest/doctest.h>

#include "policy/pressure.hpp"
#include "unit/policy/world.hpp"

using namespace koordlet;
using namespace koordlet::policy;
using namespace koordlet::test;
using std::chrono::seconds;

namespace {

struct Rig {
  World world{100'000};  // 100 cores: 1 % is 1000 m, 10 % 10000 m
  EffectiveConfig config;
  Pressure::State state;

  std::vector<Proposal> look(bool may_relax = true) {
    auto d = Pressure::decide(world.snap(may_relax), config, state);
    state = d.state;
    return d.proposals;
  }
  std::vector<Proposal> at(std::int64_t ls,
                           std::int64_t be,
                           std::int64_t system = 0,
                           bool may_relax = true) {
    world.wait(seconds{1});
    world.sample(ls, be, system);
    return look(may_relax);
  }
};

CgroupPath pod_path(const std::string& uid) { return kBeRoot.child("pod" + uid); }

}  // namespace

TEST_SUITE("policy/pressure pod caps") {
  TEST_CASE("who gets a cap: BE by label or by class, active, with a known directory") {
    Rig rig;
    auto& pods = rig.world.pods;
    pods.push_back(be_pod("plain", 1000));
    pods.push_back(be_pod("labelled", 1000));
    pods.back().qos = QosClass::kBe;
    pods.push_back(be_pod("ls", 1000));
    pods.back().qos = QosClass::kLs;
    pods.push_back(be_pod("done", 1000));
    pods.back().phase = PodPhase::kSucceeded;
    pods.push_back(be_pod("pending", 1000));
    pods.back().phase = PodPhase::kPending;
    pods.push_back(be_pod("nowhere", 1000));
    pods.back().cgroup = CgroupPath{};
    pods.push_back(outside_pod("outside", 1000));
    pods.push_back(outside_pod("burstable", 1000));
    pods.back().qos = QosClass::kNone;
    const auto got = rig.at(10'000, 1000);
    CHECK(wish(got, pod_path("plain")) == "100000 100000");
    CHECK(wish(got, pod_path("labelled")) == "100000 100000");
    CHECK(wish(got, pod_path("pending")) == "100000 100000");
    CHECK(wish(got, path("kubepods/burstable/podoutside")) == "100000 100000");
    CHECK(got.size() == 4);
  }

  TEST_CASE("containers are never written") {
    Rig rig;
    rig.world.pods.push_back(be_pod("a", 1000));
    for (const auto& p : rig.at(90'000, 0)) {
      CHECK((p.key.path == pod_path("a") || p.key.path == kBeRoot));
    }
  }

  TEST_CASE("a tiny request gets the smallest quota, a huge one the largest") {
    Rig rig;
    rig.world.pods = {be_pod("tiny", 10), be_pod("huge", INT64_MAX / 2)};
    const auto got = rig.at(90'000, 0);
    CHECK(wish(got, pod_path("tiny")) == "1000 100000");
    CHECK(wish(got, pod_path("huge")) == "17592186044415 100000");
    CHECK(wish(got, kBeRoot) == "17592186044415 100000");
  }

  TEST_CASE("default_request_milli stands in for a missing request") {
    Rig rig;
    rig.config.pressure.default_request_milli = 500;
    rig.world.pods.push_back(be_pod("a", std::nullopt));
    CHECK(wish(rig.at(90'000, 0), pod_path("a")) == "15000 100000");
    CHECK(rig.state.uncapped.empty());
  }
}

TEST_SUITE("policy/pressure root sum") {
  TEST_CASE("the root carries the sum of the caps below it, and nothing at full factor") {
    Rig rig;
    rig.world.pods = {be_pod("a", 4000), be_pod("b", 10), outside_pod("o", 8000)};
    CHECK(wish(rig.at(10'000, 0), kBeRoot) == "");
    CHECK(wish(rig.at(70'000, 0), kBeRoot) == "281000 100000");  // 280000 + the 1000 us minimum
    const auto high = rig.at(85'000, 0);
    CHECK(wish(high, kBeRoot) == "121000 100000");
    CHECK(wish(high, path("kubepods/burstable/podo")) == "240000 100000");
  }

  TEST_CASE("a pod that is not BE by label but lives below the root: no sum, it has no share") {
    Rig rig;
    rig.world.pods = {be_pod("a", 4000), be_pod("ls", 1000)};
    rig.world.pods.back().qos = QosClass::kLs;
    const auto got = rig.at(85'000, 0);
    CHECK(wish(got, kBeRoot) == "");
    CHECK(wish(got, pod_path("a")) == "120000 100000");
  }

  TEST_CASE("no BE root, no BE pod below it: no root wish") {
    Rig rig;
    rig.world.pods = {outside_pod("o", 8000)};
    CHECK(wish(rig.at(85'000, 0), kBeRoot) == "");
    rig.world.pods = {be_pod("a", 4000)};
    rig.world.be_root.reset();
    const auto got = rig.at(85'000, 0);
    CHECK(wish(got, kBeRoot) == "");
    CHECK(wish(got, pod_path("a")) == "120000 100000");
  }
}

TEST_SUITE("policy/pressure root cap") {
  TEST_CASE("pods without a request share capacity x high - LS - system at every level") {
    Rig rig;
    rig.world.pods = {be_pod("free", std::nullopt), be_pod("a", 4000)};
    const auto got = rig.at(20'000, 5000, 3000);  // 80000 - 20000 - 3000
    CHECK(rig.state.level == Level::kNone);
    CHECK(wish(got, kBeRoot) == "5700000 100000");
    CHECK(wish(got, pod_path("free")) == "");
    CHECK(wish(got, pod_path("a")) == "400000 100000");
    CHECK(rig.state.uncapped == std::vector<std::string>{"free"});
    CHECK(rig.state.root_cap == MilliCpu{57'000});
  }

  TEST_CASE("system is at least what the node reserves, host applications count as LS") {
    Rig rig;
    rig.world.pods = {be_pod("free", std::nullopt)};
    rig.world.node.cpu_reserved = MilliCpu{6000};
    rig.world.signals.host_app_used = MilliCpu{1000};
    // node - pods - host = 2000 < 6000 reserved: 80000 - (20000 + 1000) - 6000
    CHECK(wish(rig.at(20'000, 5000, 3000), kBeRoot) == "5300000 100000");
  }

  TEST_CASE("what BE uses outside the root is part of the same budget") {
    Rig rig;
    rig.world.pods = {be_pod("free", std::nullopt), outside_pod("o", 8000)};
    rig.world.signals.be_outside_used = MilliCpu{7000};
    // LS = pods - BE root - BE outside = 20000; 80000 - 20000 - 7000
    CHECK(wish(rig.at(20'000, 5000), kBeRoot) == "5300000 100000");
  }

  TEST_CASE("a request-less BE pod outside the root is reported, the root cannot bound it") {
    Rig rig;
    rig.world.pods = {outside_pod("o", std::nullopt)};
    CHECK(wish(rig.at(20'000, 0), kBeRoot) == "");
    CHECK(rig.state.uncapped == std::vector<std::string>{"o"});
    CHECK(rig.state.root_cap == MilliCpu{0});
  }

  TEST_CASE("cuts at once, rises 10 % of the node a sample, stays inside 1 %") {
    Rig rig;
    rig.world.pods = {be_pod("free", std::nullopt)};
    CHECK(wish(rig.at(20'000, 0), kBeRoot) == "6000000 100000");
    CHECK(wish(rig.at(75'000, 0), kBeRoot) == "500000 100000");
    CHECK(wish(rig.at(20'000, 0), kBeRoot) == "1500000 100000");
    CHECK(wish(rig.look(), kBeRoot) == "1500000 100000");  // same sample: no second step
    CHECK(wish(rig.at(20'000, 0), kBeRoot) == "2500000 100000");
    CHECK(wish(rig.at(54'001, 0), kBeRoot) == "2500000 100000");  // 25999: inside
    CHECK(wish(rig.at(55'999, 0), kBeRoot) == "2500000 100000");  // 24001: inside
    CHECK(wish(rig.at(56'000, 0), kBeRoot) == "2400000 100000");  // 24000: 1 % is not inside
  }

  TEST_CASE("the floor is reached even inside the dead band: 2000 us, or min_percent of the node") {
    Rig rig;
    rig.world.pods = {be_pod("free", std::nullopt)};
    CHECK(wish(rig.at(79'500, 0), kBeRoot) == "50000 100000");
    CHECK(wish(rig.at(99'000, 0), kBeRoot) == "2000 100000");
    rig.config.suppress.min_percent = 5;
    CHECK(wish(rig.at(99'000, 0), kBeRoot) == "500000 100000");
  }

  TEST_CASE("the root is never below the smallest quota of a pod") {
    Rig rig;
    rig.config.pressure.min_quota_us = 9000;
    rig.world.pods = {be_pod("free", std::nullopt)};
    CHECK(wish(rig.at(99'000, 0), kBeRoot) == "9000 100000");
  }

  TEST_CASE("an event tick cuts the root cap and never lifts it") {
    Rig rig;
    rig.world.pods = {be_pod("free", std::nullopt)};
    rig.at(50'000, 0);
    CHECK(wish(rig.at(70'000, 0, 0, false), kBeRoot) == "1000000 100000");
    CHECK(wish(rig.at(10'000, 0, 0, false), kBeRoot) == "1000000 100000");
    CHECK(wish(rig.look(), kBeRoot) == "2000000 100000");  // the normal tick lifts it
  }

  TEST_CASE("class use unknown or signals stale: the last value holds") {
    Rig rig;
    rig.world.pods = {be_pod("free", std::nullopt)};
    rig.at(50'000, 0);
    rig.world.wait(seconds{1});
    rig.world.sample(10'000, 0);
    rig.world.signals.be_used.reset();
    CHECK(wish(rig.look(), kBeRoot) == "3000000 100000");
    rig.world.sample(10'000, 0);
    rig.world.signals.kubepods_used.reset();
    CHECK(wish(rig.look(), kBeRoot) == "3000000 100000");
    rig.world.sample(10'000, 0);
    rig.world.wait(seconds{10});
    CHECK(wish(rig.look(), kBeRoot) == "3000000 100000");
  }

  TEST_CASE("class use never known: no root wish, nothing invented") {
    Rig rig;
    rig.world.pods = {be_pod("free", std::nullopt)};
    rig.world.signals.seq = 1;
    rig.world.signals.at = rig.world.now;
    rig.world.signals.node_used = MilliCpu{50'000};
    rig.world.signals.be_used.reset();
    CHECK(wish(rig.look(), kBeRoot) == "");
  }

  TEST_CASE("the last pod without a request leaves: the cap is forgotten, the sum takes over") {
    Rig rig;
    rig.world.pods = {be_pod("a", 4000), be_pod("free", std::nullopt)};
    rig.at(70'000, 0);
    rig.world.pods.pop_back();
    CHECK(wish(rig.look(), kBeRoot) == "280000 100000");
    CHECK(rig.state.root_cap == MilliCpu{0});
    rig.world.pods.push_back(be_pod("free", std::nullopt));
    CHECK(wish(rig.look(), kBeRoot) == "1000000 100000");  // same sample: capped at once
  }

  TEST_CASE("a bare node: LS grows, and BE without requests never takes the node over 80 %") {
    Rig rig;
    rig.world.pods = {be_pod("free", std::nullopt)};
    rig.at(10'000, 0);
    for (int i = 0; i < 300; ++i) {
      const std::int64_t ls = 10'000 + (i % 100) * 600;
      const std::int64_t be_before = std::min<std::int64_t>(90'000, rig.state.root_cap.v);
      rig.at(ls, be_before);
      const std::int64_t be_after = std::min<std::int64_t>(90'000, rig.state.root_cap.v);
      CAPTURE(i);
      CHECK(ls + be_after <= 80'000 + 1000);  // the dead band
    }
  }
}

TEST_SUITE("policy/pressure properties") {
  TEST_CASE("10000 steps of random load: bounds hold in every one") {
    std::mt19937 random{20'240'601};
    for (const bool doubling : {false, true}) {
      Rig rig;
      rig.config.pressure.hold_doubling = doubling;
      rig.world.pods = {be_pod("a", 4000), be_pod("b", 7), be_pod("c", 33'333)};
      std::int64_t ls = 30'000;
      for (int i = 0; i < 10'000; ++i) {
        const auto pick = [&random](int low, int high) {
          return std::uniform_int_distribution<int>{low, high}(random);
        };
        ls = std::clamp<std::int64_t>(ls + pick(-15'000, 15'000), 0, 100'000);
        const bool may_relax = pick(0, 3) != 0;
        const bool with_free_pod = pick(0, 9) == 0;
        if (with_free_pod) rig.world.pods.push_back(be_pod("free", std::nullopt));
        const auto before = rig.state;
        rig.world.wait(std::chrono::milliseconds{pick(50, 4000)});
        if (pick(0, 9) != 0) {
          rig.world.sample(ls, std::min<std::int64_t>(pick(0, 40'000), 100'000 - ls));
        }
        const auto got = rig.look(may_relax);
        const auto& after = rig.state;

        REQUIRE(after.factor_permille <= before.factor_permille + 100);
        if (!may_relax) REQUIRE(after.factor_permille <= before.factor_permille);
        REQUIRE(after.factor_permille >= 300);
        REQUIRE(after.factor_permille <= (after.level == Level::kHigh  ? 300
                                          : after.level == Level::kMid ? 700
                                                                       : 1000));
        if (!may_relax) REQUIRE(after.level >= before.level);
        if (before.root_cap.v > 0 && after.root_cap.v > 0) {
          REQUIRE(after.root_cap.v <= before.root_cap.v + 10'000);
        }
        for (const auto& p : got) {
          const std::int64_t us = std::get<CpuMax>(p.value).quota.bound()->count();
          REQUIRE(us >= 1000);
          for (const auto& pod : rig.world.pods) {
            const auto request = be_cpu_request(pod);
            if (p.key.path != pod.cgroup || !request) continue;
            REQUIRE(us <= std::max<std::int64_t>(request->v * 100, 1000));
          }
        }
        REQUIRE(Pressure::decide(rig.world.snap(may_relax), rig.config, after).state == after);
        if (with_free_pod) rig.world.pods.pop_back();
      }
    }
  }
}
