#include "policy/cap_check.hpp"

#include <doctest/doctest.h>

#include "world.hpp"

using namespace koordlet;
using namespace koordlet::policy;
using namespace koordlet::test;
using std::chrono::seconds;

namespace {

const CgroupKey kPod{kBeRoot.child("poda"), CgroupFile::kCpuMax};
const CgroupKey kRoot{kBeRoot, CgroupFile::kCpuMax};

struct Rig {
  World world{100'000};
  DesiredTable table;
  CapTracks tracks;
  std::map<std::string, PodUsage> usage;

  Rig() { world.pods = {be_pod("a", 4000)}; }
  void cap(const CgroupKey& key, std::int64_t us) {
    table[key].value = quota(us);
    table[key].since = world.now;
  }
  std::vector<CapOver> look() {
    auto snap = world.snap();
    snap.pods = usage;
    return observe_caps(snap, table, tracks);
  }
  std::vector<CapOver> pod_sample(std::int64_t used) {
    world.wait(seconds{10});
    usage["a"].at = world.now;
    usage["a"].cpu = MilliCpu{used};
    return look();
  }
  std::vector<CapOver> second(std::int64_t be) {
    world.wait(seconds{1});
    world.sample(10'000, be);
    return look();
  }
};

CapFacts good() {
  CapFacts f;
  f.held = true;
  f.wanted = f.kernel = "120000 100000";
  f.has_tasks = true;
  return f;
}

}  // namespace

TEST_SUITE("policy/cap_check") {
  TEST_CASE("more than 10 % and more than 50 milli-cores above") {
    CHECK_FALSE(exceeds(MilliCpu{1100}, MilliCpu{1000}));
    CHECK(exceeds(MilliCpu{1101}, MilliCpu{1000}));
    CHECK_FALSE(exceeds(MilliCpu{150}, MilliCpu{100}));
    CHECK(exceeds(MilliCpu{151}, MilliCpu{100}));
    CHECK_FALSE(exceeds(MilliCpu{0}, MilliCpu{1000}));
  }
  TEST_CASE(
      "two samples in a row that lie wholly under the cap; the first reaches back before it") {
    Rig rig;
    rig.cap(kPod, 100'000);
    CHECK(rig.pod_sample(3000).empty());
    CHECK(rig.pod_sample(3000).empty());
    const auto over = rig.pod_sample(3000);
    REQUIRE(over.size() == 1);
    CHECK(over[0].uid == "a");
    CHECK(over[0].cap == MilliCpu{1000});
    CHECK(over[0].used == MilliCpu{3000});
    CHECK(rig.look().size() == 1);  // the same sample again changes nothing
    CHECK(rig.pod_sample(1000).empty());
    CHECK(rig.pod_sample(3000).empty());
  }
  TEST_CASE("a cap that changes starts anew, one that goes is forgotten") {
    Rig rig;
    rig.cap(kPod, 100'000);
    for (int i = 0; i < 3; ++i) rig.pod_sample(3000);
    rig.cap(kPod, 50'000);
    CHECK(rig.look().empty());
    CHECK(rig.pod_sample(3000).empty());
    rig.table.clear();
    CHECK(rig.pod_sample(3000).empty());
    CHECK(rig.tracks.tracks.empty());
  }
  TEST_CASE("the BE root by means of 2 s: a single high sample is none, 9 s above it are") {
    Rig rig;
    rig.cap(kRoot, 100'000);
    for (int i = 0; i < 20; ++i) CHECK(rig.second(i % 2 == 0 ? 1050 : 1000).empty());
    bool found = false;
    for (int i = 0; i < 9; ++i) found = !rig.second(2000).empty();
    CHECK(found);
  }
  TEST_CASE("a base value, no use, or no cap is not looked at") {
    Rig rig;
    rig.cap(kPod, 100'000);
    rig.table[kPod].role = Role::kBase;
    for (int i = 0; i < 4; ++i) CHECK(rig.pod_sample(3000).empty());
    rig.table[kPod].role = Role::kCap;
    for (int i = 0; i < 4; ++i) {
      rig.world.wait(seconds{10});
      rig.usage["a"].at = rig.world.now;
      rig.usage["a"].cpu.reset();
      CHECK(rig.look().empty());
    }
  }
  TEST_CASE("causes, in their order") {
    auto f = good();
    CHECK(find_cause(f).cause == CapCause::kUnknown);
    f.burst_us = 50'000;
    CHECK(find_cause(f).cause == CapCause::kBurst);
    f.has_tasks = false;
    CHECK(find_cause(f).cause == CapCause::kWrongPath);
    f.kernel = "400000 100000";
    CHECK(find_cause(f).cause == CapCause::kNotWritten);
    CHECK(find_cause(f).detail.find("holds '400000 100000', wanted is '120000 100000'") !=
          std::string::npos);
    f.kernel = "";
    CHECK(find_cause(f).cause == CapCause::kOtherHierarchy);
    f.last = OutcomeKind::kRefused;
    f.error = "/x/cpu.max: write: Invalid argument";
    CHECK(find_cause(f).cause == CapCause::kInvalid);
    for (const char* why :
         {"Permission denied", "Operation not permitted", "Read-only file system"}) {
      f.error = std::string{"/x/cpu.max: write: "} + why;
      CHECK(find_cause(f).cause == CapCause::kRights);
    }
    f.contested = true;
    CHECK(find_cause(f).cause == CapCause::kContested);
  }
}
