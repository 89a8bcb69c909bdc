#include <doctest/doctest.h>

#include "unit/modules/resource_executor/rig.hpp"

using namespace koordlet;
using namespace koordlet::test;
using namespace std::chrono_literals;

namespace {

constexpr auto kV1 = CgroupVersion::kV1;
constexpr auto kV2 = CgroupVersion::kV2;

}  // namespace

TEST_SUITE("executor/foreign writers") {
  TEST_CASE("pitfall 79: a change behind the back is rewritten at the next batch") {
    Rig rig{kV2};
    rig.tree.make("be/pod");
    const auto pod = key_of("be/pod", CgroupFile::kCpuMax);
    rig.tree.set(pod, cpu_max(400'000));
    rig.apply_one(pod, cpu_max(120'000));
    rig.tree.set(pod, cpu_max(800'000));
    CHECK(rig.apply_one(pod, cpu_max(120'000)).kind == OutcomeKind::kWritten);
    CHECK(rig.tree.text(pod) == "120000 100000");
    CHECK(rig.held(pod).foreign_writes == 1);
    CHECK(rig.held(pod).original == "400000 100000");  // never the foreign value
    CHECK_FALSE(rig.held(pod).contested);
    CHECK(rig.executor->counters().foreign == 1);
  }
  TEST_CASE("a foreign value that cannot be healed counts once") {
    Rig rig{kV2};
    rig.tree.make("be/pod");
    const auto pod = key_of("be/pod", CgroupFile::kCpuMax);
    rig.apply_one(pod, cpu_max(120'000));
    rig.tree.set(pod, cpu_max(800'000));
    rig.tree.fail_next(pod, Errc::kBusy, 3);
    for (int i = 0; i < 3; ++i) {
      rig.apply_one(pod, cpu_max(120'000));
      rig.clock.advance(1s);
    }
    CHECK(rig.held(pod).foreign_writes == 1);
  }
  TEST_CASE("more than 3 in a minute is contested; a quota is still held") {
    Rig rig{kV2};
    rig.tree.make("be/pod");
    const auto pod = key_of("be/pod", CgroupFile::kCpuMax);
    rig.apply_one(pod, cpu_max(120'000));
    for (int i = 1; i <= 4; ++i) {
      CAPTURE(i);
      rig.clock.advance(10s);
      rig.tree.set(pod, cpu_max(800'000));
      CHECK(rig.apply_one(pod, cpu_max(120'000)).kind == OutcomeKind::kWritten);
      CHECK(rig.held(pod).contested == (i > 3));
    }
    rig.clock.advance(60s);
    rig.apply_one(pod, cpu_max(120'000));
    CHECK_FALSE(rig.held(pod).contested);
    CHECK(rig.held(pod).foreign_writes == 4);
  }
  TEST_CASE("3 a minute for ever is not contested") {
    Rig rig{kV2};
    rig.tree.make("be/pod");
    const auto pod = key_of("be/pod", CgroupFile::kCpuMax);
    rig.apply_one(pod, cpu_max(120'000));
    for (int i = 0; i < 30; ++i) {
      rig.clock.advance(20s);
      rig.tree.set(pod, cpu_max(800'000));
      rig.apply_one(pod, cpu_max(120'000));
      CHECK_FALSE(rig.held(pod).contested);
    }
  }
  TEST_CASE("pitfall 157: a cpuset written every 10 s by another is rewritten 3 times, then left") {
    Rig rig{kV1};
    rig.tree.make("be/pod/c");
    const auto c = key_of("be/pod/c", CgroupFile::kCpuset);
    rig.apply_one(c, cpus("0-1"));
    rig.writes();
    for (int i = 1; i <= 8; ++i) {
      CAPTURE(i);
      rig.clock.advance(10s);
      rig.tree.set(c, cpus("4-7"));
      const auto out = rig.apply_one(c, cpus("0-1"));
      CHECK(out.kind == (i <= 3 ? OutcomeKind::kWritten : OutcomeKind::kRefused));
      if (i > 3) CHECK(out.error.find("contested") != std::string::npos);
    }
    CHECK(rig.held(c).contested);
    CHECK(rig.tree.text(c) == "4-7");
    SUBCASE("another wish is a new try") {
      CHECK(rig.apply_one(c, cpus("0-2")).kind == OutcomeKind::kWritten);
    }
    SUBCASE("after 10 minutes it is tried again") {
      rig.clock.advance(10min);
      CHECK(rig.apply_one(c, cpus("0-1")).kind == OutcomeKind::kWritten);
      CHECK_FALSE(rig.held(c).contested);
    }
    SUBCASE("given up: the other writer's value stays") {
      rig.writes();
      rig.apply({});
      CHECK(rig.writes().empty());
    }
  }
  TEST_CASE("kubelet putting the BE weight back every minute, or more often, is no contest") {
    for (const auto version : {kV1, kV2}) {
      Rig rig{version};
      rig.tree.make("kubepods/besteffort");
      const auto key = key_of("kubepods/besteffort", CgroupFile::kCpuWeight);
      const bool v1 = version == kV1;
      rig.tree.set(key, number(v1 ? 2 : 1));
      rig.apply_one(key, number(v1 ? 20 : 2));
      for (int i = 0; i < 10; ++i) {
        rig.clock.advance(5s);
        rig.tree.set(key, number(v1 ? 2 : 1));
        CHECK(rig.apply_one(key, number(v1 ? 20 : 2)).kind == OutcomeKind::kWritten);
      }
      CHECK_FALSE(rig.held(key).contested);
      CHECK(rig.held(key).foreign_writes == 10);
    }
  }
  TEST_CASE("systemd resets of unit properties are rewritten and are no contest") {
    Rig rig{kV2};
    const char* slice = "kubepods.slice/kubepods-besteffort.slice";
    rig.tree.make(slice);
    const auto key = key_of(slice, CgroupFile::kCpuMax);
    rig.tree.set_unit(key, cpu_unlimited());
    rig.apply_one(key, cpu_max(800'000));
    for (int i = 0; i < 10; ++i) {
      rig.clock.advance(1s);
      rig.tree.daemon_reload();
      CHECK(rig.apply_one(key, cpu_max(800'000)).kind == OutcomeKind::kWritten);
    }
    CHECK_FALSE(rig.held(key).contested);
    CHECK(rig.held(key).foreign_writes == 10);
    for (int i = 0; i < 4; ++i) {  // not the unit's value: a contest
      rig.tree.set(key, cpu_max(900'000));
      rig.apply_one(key, cpu_max(800'000));
    }
    CHECK(rig.held(key).contested);
  }
  TEST_CASE("release leaves a value that is neither ours nor the original") {
    Rig rig{kV2};
    rig.tree.make("be/pod");
    const auto pod = key_of("be/pod", CgroupFile::kCpuMax);
    rig.tree.set(pod, cpu_max(400'000));
    rig.apply_one(pod, cpu_max(120'000));
    rig.tree.set(pod, cpu_max(600'000));
    const auto out = rig.apply({});
    REQUIRE(out.size() == 1);
    CHECK(out[0].kind == OutcomeKind::kUnchanged);
    CHECK(out[0].value == "600000 100000");
    CHECK(rig.tree.text(pod) == "600000 100000");
    CHECK(rig.executor->held().empty());
  }
  TEST_CASE("a foreign writer of our own next wish: nothing to write, given back later") {
    Rig rig{kV2};
    rig.tree.make("be/pod");
    const auto pod = key_of("be/pod", CgroupFile::kCpuMax);
    rig.tree.set(pod, cpu_max(400'000));
    rig.apply_one(pod, cpu_max(120'000));
    rig.tree.set(pod, cpu_max(150'000));
    CHECK(rig.apply_one(pod, cpu_max(150'000)).kind == OutcomeKind::kUnchanged);
    rig.apply({});
    CHECK(rig.tree.text(pod) == "400000 100000");
  }
}

TEST_SUITE("executor/idle") {
  TEST_CASE("entering idle keeps the weight as original, leaving gives both back in order") {
    for (const auto version : {kV1, kV2}) {
      Rig rig{version};
      rig.tree.make("be/pod");
      const auto idle = key_of("be/pod", CgroupFile::kCpuIdle);
      const auto weight = key_of("be/pod", CgroupFile::kCpuWeight);
      rig.tree.set(weight, number(37));
      for (int i = 0; i < 3; ++i) rig.apply_one(idle, number(1));
      CHECK(rig.writes() == Texts{"/be/pod cpu.idle = 1"});
      CHECK(rig.held(weight).original == "37");
      CHECK(rig.held(weight).foreign_writes == 0);
      rig.apply({});
      CHECK(rig.writes() == Texts{"/be/pod cpu.idle = 0", "/be/pod cpu.weight = 37"});
      CHECK(rig.tree.text(weight) == "37");
    }
  }
  TEST_CASE("a wished weight goes in before idle, rests under it, and comes back after it") {
    Rig rig{kV2};
    rig.tree.make("be/pod");
    const auto idle = key_of("be/pod", CgroupFile::kCpuIdle);
    const auto weight = key_of("be/pod", CgroupFile::kCpuWeight);
    rig.apply({{idle, wish(number(1))}, {weight, wish(number(2))}});
    CHECK(rig.writes() == Texts{"/be/pod cpu.weight = 2", "/be/pod cpu.idle = 1"});
    rig.apply({{idle, wish(number(1))}, {weight, wish(number(2))}});
    CHECK(rig.writes().empty());
    rig.apply({{weight, wish(number(2))}});
    CHECK(rig.writes() == Texts{"/be/pod cpu.idle = 0", "/be/pod cpu.weight = 2"});
    rig.apply({});
    CHECK(rig.tree.text(weight) == "100");
    CHECK(rig.held(weight).foreign_writes == 0);
  }
  TEST_CASE("restore writes idle 0, then the old weight") {
    Rig rig{kV1};
    rig.tree.make("be/pod");
    const auto idle = key_of("be/pod", CgroupFile::kCpuIdle);
    const auto weight = key_of("be/pod", CgroupFile::kCpuWeight);
    rig.tree.set(weight, number(2));
    rig.apply_one(idle, number(1));
    rig.executor->restore_all();
    CHECK(rig.tree.text(idle) == "0");
    CHECK(rig.tree.text(weight) == "2");
  }
}
