#include "policy/idle_buffer.hpp"

#include <doctest/doctest.h>

#include "unit/policy/world.hpp"

using namespace koordlet;
using namespace koordlet::policy;
using namespace koordlet::test;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

/// 16 CPUs of which 4 stay idle, one more before BE gets some back.
struct Rig {
  World world{16'000};
  EffectiveConfig config;
  IdleBuffer::State state;
  std::vector<Proposal> proposals;

  explicit Rig(IdleBufferBy by = IdleBufferBy::kQuota) {
    config.idle_buffer.cores = 4;
    config.idle_buffer.by = by;
    world.topology = flat_topology(16);
  }
  std::string look(bool may_relax) {
    auto d = IdleBuffer::decide(world.snap(may_relax), config, state);
    state = d.state;
    proposals = d.proposals;
    return wish(proposals, kBeRoot, state.by_cpuset ? CgroupFile::kCpuset : CgroupFile::kCpuMax);
  }
  /// A normal tick, one second later.
  std::string tick(std::int64_t ls, std::int64_t be) {
    world.wait(seconds{1});
    world.sample(ls, be);
    return look(true);
  }
  /// A look of the fast poll.
  std::string fast(std::int64_t ls, std::int64_t be) {
    world.wait(milliseconds{100});
    world.sample(ls, be);
    return look(false);
  }
};

}  // namespace

TEST_SUITE("policy/idle_buffer") {
  TEST_CASE("off by default: nothing is proposed and nothing is kept") {
    Rig rig;
    rig.config = EffectiveConfig{};
    CHECK(rig.tick(10'000, 5000) == "");
    CHECK(rig.state == IdleBuffer::State{});
    CHECK_FALSE(idle_buffer_on(rig.config));
  }

  TEST_CASE("unlimited BE is bounded at the first look to what leaves the buffer idle") {
    Rig rig;
    CHECK(rig.tick(5000, 3000) == "700000 100000");  // 16 - 4 - 5
    CHECK(rig.proposals.at(0).role == Role::kCap);
    CHECK(rig.state.idle == MilliCpu{8000});
  }

  TEST_CASE("idle under the buffer: the fast poll takes it back at once") {
    Rig rig;
    rig.tick(5000, 7000);
    CHECK(rig.fast(8000, 7000) == "400000 100000");  // 16 - 4 - 8
    CHECK(rig.state.cuts == 2);
  }

  TEST_CASE("a sample that still shows the time before the cut does not cut twice") {
    Rig rig;
    rig.tick(5000, 7000);
    rig.fast(8000, 7000);
    // Half of the window lies before the cut: BE shows 5.5 of its 4 cores, idle 2.5.
    CHECK(rig.fast(8000, 5500) == "400000 100000");
    CHECK(rig.fast(8000, 4000) == "400000 100000");
    CHECK(rig.state.cuts == 2);
  }

  TEST_CASE("idle over buffer and hysteresis: one core a normal tick, up to the room") {
    Rig rig;
    rig.tick(9000, 3000);
    CHECK(rig.tick(5000, 3000) == "400000 100000");  // 8 idle, room 7
    CHECK(rig.tick(5000, 4000) == "500000 100000");
    CHECK(rig.fast(5000, 5000) == "500000 100000");  // the fast poll gives nothing back
    CHECK(rig.tick(5000, 5000) == "600000 100000");  // 6 idle
    CHECK(rig.tick(5000, 6000) == "600000 100000");  // 5 idle: within the hysteresis
    CHECK(rig.state.steps == 3);
  }

  TEST_CASE("the last step is no more than the room") {
    Rig rig;
    rig.tick(9000, 3000);
    CHECK(rig.tick(8500, 1000) == "350000 100000");
  }

  TEST_CASE("one sample counts once") {
    Rig rig;
    rig.tick(9000, 3000);
    rig.tick(5000, 3000);
    CHECK(rig.look(true) == "400000 100000");
    CHECK(rig.look(true) == "400000 100000");
  }

  TEST_CASE("BE idle now must not be able to eat the buffer before the next look") {
    Rig rig;
    rig.tick(2000, 0);                             // room 10
    CHECK(rig.fast(2900, 0) == "1000000 100000");  // 0.9 over: within the hysteresis
    CHECK(rig.fast(6000, 0) == "600000 100000");   // 10 idle, but the allowance would take 10
  }

  TEST_CASE("others need the whole node: BE keeps the least quota, or two CPUs") {
    Rig quota;
    CHECK(quota.tick(15'000, 1000) == "2000 100000");
    Rig set{IdleBufferBy::kCpuset};
    CHECK(set.tick(15'000, 1000) == "0-1");
  }

  TEST_CASE("by cpuset: whole CPUs, to root, pods and containers") {
    Rig rig{IdleBufferBy::kCpuset};
    rig.world.pods.push_back(be_pod("a", 1000));
    CHECK(rig.tick(5500, 3000) == "0-5");  // room 6.5
    CHECK(wish(rig.proposals, kBeRoot.child("poda").child("a-c"), CgroupFile::kCpuset) == "0-5");
    CHECK(rig.fast(8000, 6000) == "0-3");
    CHECK(rig.tick(5500, 3000) == "0-4");
  }

  TEST_CASE("as the suppress rule while that is on, else by quota") {
    Rig rig{IdleBufferBy::kSuppress};
    rig.tick(5000, 3000);
    CHECK_FALSE(rig.state.by_cpuset);
    rig.config.suppress.enable = true;
    CHECK(rig.tick(5000, 3000) == "0-6");
    CHECK(rig.state.by_cpuset);
    rig.config.suppress.policy = SuppressPolicy::kCfsQuota;
    CHECK(rig.tick(5000, 3000) == "700000 100000");
  }

  TEST_CASE("old or missing inputs: what holds stays, and it says why") {
    Rig rig;
    rig.tick(5000, 7000);
    rig.world.wait(seconds{4});
    CHECK(rig.look(true) == "700000 100000");
    CHECK(rig.state.why == "no young sample of the node");
    rig.world.sample(12'000, 0);
    rig.world.signals.be_used.reset();
    CHECK(rig.look(true) == "700000 100000");
    CHECK(rig.state.why == "the use of BE is unknown");
    rig.world.be_root.reset();
    CHECK(rig.look(true) == "");
  }

  TEST_CASE("CPU layout unknown: no cpuset is proposed, and it says so") {
    Rig rig{IdleBufferBy::kCpuset};
    rig.world.topology.clear();
    CHECK(rig.tick(5000, 3000) == "");
    CHECK(rig.state.why == "the CPUs that BE may use are unknown, or there are none");
  }

  TEST_CASE("switched off by NodeSLO: gone in the same tick") {
    Rig rig;
    rig.tick(5000, 7000);
    rig.config.off = true;
    CHECK(rig.tick(5000, 7000) == "");
    CHECK_FALSE(rig.state.allowance.has_value());
  }
}
