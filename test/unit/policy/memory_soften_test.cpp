#include "policy/memory_soften.hpp"

#include <doctest/doctest.h>

#include "unit/policy/world.hpp"

using namespace koordlet;
using namespace koordlet::policy;
using namespace koordlet::test;
using std::chrono::seconds;

namespace {

constexpr std::int64_t kMi = std::int64_t{1} << 20;
constexpr std::int64_t kTotal = 100'000 * kMi;

/// Threshold 70 %: from 65 %, lifted below 63 %.
struct Rig {
  World world{16'000};
  EffectiveConfig config;
  MemorySoften::State state;
  std::vector<Proposal> proposals;
  bool has_reclaim = false;
  std::optional<Bytes> protected_cache;

  Rig() {
    world.version = CgroupVersion::kV2;
    config.memory_soften.enable = true;
    world.signals.memory_total = Bytes{kTotal};
    world.pods.push_back(be_pod("b", 1000));
    world.pods[0].qos = QosClass::kBe;
    world.pods[0].containers[0].requests.batch_memory = Bytes{4000 * kMi};
  }
  void look(bool may_relax = true) {
    auto snap = world.snap(may_relax);
    snap.has_memory_reclaim = has_reclaim;
    snap.protected_cache = protected_cache;
    auto d = MemorySoften::decide(snap, config, state);
    state = d.state;
    proposals = d.proposals;
  }
  /// One second later; node use in permille of MemTotal, BE use in MiB.
  std::string tick(std::int64_t used_permille, std::int64_t be_mi) {
    world.wait(seconds{1});
    world.sample(1000, 0);
    world.signals.memory_used = Bytes{kTotal / 1000 * used_permille};
    world.be_root->memory = Bytes{be_mi * kMi};
    look();
    return high();
  }
  std::string high() const { return wish(proposals, kBeRoot, CgroupFile::kMemoryHigh); }
  bool holds() const { return softening_holds(state, world.now); }
};

std::string mi(std::int64_t v) { return std::to_string(v * kMi); }

}  // namespace

TEST_SUITE("policy/memory_soften") {
  TEST_CASE("5 points under the threshold: use less 5 %, each 2 s, lifted 7 points under") {
    Rig rig;
    CHECK(rig.tick(649, 20'000) == "");
    CHECK(rig.tick(660, 20'000) == mi(19'000));
    CHECK(rig.proposals.at(0).role == Role::kCap);
    CHECK(rig.tick(660, 19'000) == mi(19'000));
    CHECK(rig.tick(660, 19'000) == mi(18'050));
    CHECK(rig.tick(640, 18'050) == mi(18'050));
    CHECK(rig.tick(640, 18'050) == mi(18'050));
    CHECK(rig.tick(629, 17'000) == "");
    CHECK(rig.state.phase == SoftenPhase::kIdle);
  }
  TEST_CASE("a small need takes no more than itself") {
    Rig rig;
    // 65 % used, down to 63 %: 2000 MiB, where 5 % of 60000 MiB would be 3000.
    CHECK(rig.tick(650, 60'000) == mi(58'000));
  }
  TEST_CASE("never under the requests, and nothing is left to take there") {
    Rig rig;
    CHECK(rig.tick(720, 4100) == mi(4000));
    CHECK(rig.holds());
    CHECK(rig.tick(720, 4000) == mi(4000));
    CHECK(rig.state.phase == SoftenPhase::kAtFloor);
    CHECK_FALSE(rig.holds());
  }
  TEST_CASE("use that cannot be reclaimed does not raise the limit again") {
    Rig rig;
    CHECK(rig.tick(660, 20'000) == mi(19'000));
    rig.tick(660, 21'000);
    CHECK(rig.tick(660, 21'000) == mi(19'000));
  }
  TEST_CASE("eviction waits 5 s over the threshold, and not at all 5 points over it") {
    Rig rig;
    rig.tick(690, 50'000);
    CHECK_FALSE(rig.holds());  // not over: there is nothing to wait with
    rig.tick(700, 50'000);
    CHECK(rig.holds());
    for (int i = 0; i < 4; ++i) rig.tick(700, 50'000);
    CHECK(rig.holds());
    rig.tick(700, 50'000);
    CHECK_FALSE(rig.holds());
    rig.tick(699, 50'000);
    rig.tick(700, 50'000);
    CHECK(rig.holds());
    rig.tick(750, 50'000);
    CHECK_FALSE(rig.holds());
  }
  TEST_CASE("old or missing inputs: what holds stays, and eviction does not wait") {
    Rig rig;
    rig.tick(700, 50'000);
    CHECK(rig.holds());
    rig.world.wait(seconds{4});
    rig.look();
    CHECK(rig.high() == mi(47'500));
    CHECK(rig.state.phase == SoftenPhase::kBlind);
    CHECK_FALSE(rig.holds());
    rig.world.be_root.reset();
    rig.look();
    CHECK(rig.proposals.empty());
  }
  TEST_CASE("a limit that BE did not come down to: 64 MiB are reclaimed a step, once each") {
    Rig rig;
    rig.has_reclaim = true;
    rig.tick(660, 20'000);
    CHECK_FALSE(rig.state.reclaim);  // the limit comes first
    rig.tick(660, 19'500);
    CHECK_FALSE(rig.state.reclaim);  // no step is due
    CHECK(rig.tick(660, 19'500) == mi(18'525));
    REQUIRE(rig.state.reclaim);
    CHECK(rig.state.reclaim->amount == Bytes{64 * kMi});
    CHECK(rig.state.reclaim->cgroup == kBeRoot);
    const auto first = rig.state.reclaim->at;
    rig.tick(660, 18'535);
    CHECK(rig.state.reclaim->at == first);
    rig.tick(660, 18'535);
    CHECK(rig.state.reclaim->at != first);
    CHECK(rig.state.reclaim->amount == Bytes{10 * kMi});  // no more than it is over
    CHECK(rig.state.reclaims == 2);
    rig.tick(620, 10'000);
    CHECK_FALSE(rig.state.reclaim);
  }

  TEST_CASE("no memory.reclaim on this kernel, or switched off: the limit alone works") {
    Rig rig;
    rig.tick(660, 20'000);
    rig.tick(660, 20'000);
    CHECK(rig.tick(660, 20'000) == mi(19'000));
    CHECK_FALSE(rig.state.reclaim);
    CHECK_FALSE(rig.state.can_reclaim);
    rig.has_reclaim = true;
    rig.config.memory_soften.reclaim = Bytes{0};
    rig.tick(660, 20'000);
    rig.tick(660, 20'000);
    CHECK(rig.state.can_reclaim);
    CHECK_FALSE(rig.state.reclaim);
  }

  TEST_CASE("page cache that memory.min keeps counts as used") {
    Rig rig;
    rig.protected_cache = Bytes{kTotal / 100 * 6};
    CHECK(rig.tick(600, 20'000) == mi(19'000));  // 60 % + 6 %
    Rig without;
    CHECK(without.tick(600, 20'000) == "");
  }

  TEST_CASE("event ticks repeat what holds") {
    Rig rig;
    rig.tick(660, 20'000);
    rig.world.wait(seconds{5});
    rig.world.sample(1000, 0);
    rig.look(false);
    CHECK(rig.high() == mi(19'000));
    CHECK(rig.state.steps == 1);
  }
  TEST_CASE("v1 is unsupported and says so; off forgets") {
    Rig rig;
    rig.world.version = CgroupVersion::kV1;
    CHECK(rig.tick(720, 50'000) == "");
    CHECK(rig.state.phase == SoftenPhase::kUnsupported);
    CHECK_FALSE(rig.state.why.empty());
    CHECK_FALSE(rig.holds());
    rig.config.memory_soften.enable = false;
    rig.look();
    CHECK(rig.state == MemorySoften::State{});
  }
  TEST_CASE("a threshold without room below it switches softening off") {
    Rig rig;
    rig.config.memory_evict.threshold_percent = 7;
    CHECK(rig.tick(720, 50'000) == "");
    CHECK(rig.state.phase == SoftenPhase::kOff);
    CHECK_FALSE(rig.state.why.empty());
  }
}
