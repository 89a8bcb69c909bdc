#include "policy/evict_rules.hpp"

#include <limits>

#include <doctest/doctest.h>

#include "policy/evict_window.hpp"
#include "unit/policy/evict_rig.hpp"

using namespace koordlet;
using namespace koordlet::policy;
using namespace koordlet::test;
using std::chrono::seconds;

namespace {

BeCpuEvictConfig marks(int lower, int upper) {
  BeCpuEvictConfig out;
  out.lower_percent = lower;
  out.upper_percent = upper;
  return out;
}

std::int64_t need_of(const std::optional<EvictNeed>& need) { return need ? need->need : 0; }

/// A window of `count` samples, one a second from 1000 s on.
CpuWindow filled(int count, seconds window, BeCpuLoad load = {}) {
  CpuWindow out;
  for (int i = 0; i < count; ++i) {
    out.add({MonoTime{seconds{1000 + i}}, seconds{1}, MilliCpu{1000 + i}, load}, window);
  }
  return out;
}

}  // namespace

TEST_SUITE("policy/evict rules") {
  TEST_CASE("CEV-1: 90 cores asked for, 27 given and 25 used: 36 cores of requests too much") {
    const BeCpuLoad load{25'000, 90'000, 27'000};
    CHECK(is_hot(load, {}));
    CHECK(satisfaction_need(load, marks(45, 70)) == 36'000);
    CHECK(need_of(be_cpu_need(load, load, marks(45, 70))) == 36'000);
  }

  TEST_CASE("CEV-2: in integers the need is 20000; the original gets 19999 from binary fractions") {
    CHECK(satisfaction_need({0, 100'000, 40'000}, marks(45, 60)) == 20'000);
  }

  TEST_CASE("satisfied, nothing asked for, no limit: no need") {
    CHECK(satisfaction_need({0, 0, 1000}, marks(45, 70)) == 0);
    CHECK(satisfaction_need({0, 100'000, 45'001}, marks(45, 70)) == 0);
    CHECK(satisfaction_need({0, 100'000, 45'000}, marks(45, 70)) == 25'000);
    CHECK(satisfaction_need({0, 100'000, 45'000}, marks(45, 45)) == 0);
    CHECK_FALSE(is_hot({5000, 9000, 0}, {}));
    CHECK(is_hot({0, 9000, 999}, {}));
    CHECK_FALSE(is_hot({8999, 9000, 10'000}, {}));
    CHECK(is_hot({9000, 9000, 10'000}, {}));
  }

  TEST_CASE("the mean and the last sample have to agree, the smaller need counts") {
    const BeCpuLoad bad{25'000, 90'000, 27'000}, worse{25'000, 90'000, 20'000};
    const BeCpuLoad good{25'000, 50'000, 27'000}, cold{1000, 90'000, 27'000};
    CHECK(need_of(be_cpu_need(worse, bad, marks(45, 70))) == 36'000);
    CHECK(need_of(be_cpu_need(bad, worse, marks(45, 70))) == 36'000);
    CHECK_FALSE(be_cpu_need(bad, good, marks(45, 70)).has_value());
    CHECK_FALSE(be_cpu_need(good, bad, marks(45, 70)).has_value());
    CHECK_FALSE(be_cpu_need(bad, cold, marks(45, 70)).has_value());
    CHECK_FALSE(be_cpu_need(cold, bad, marks(45, 70)).has_value());
  }

  TEST_CASE("CEV-3: 19 s of samples are too few for a window of 60 s, 20 s are enough") {
    CHECK_FALSE(filled(19, seconds{60}).covers(seconds{60}));
    CHECK(filled(20, seconds{60}).covers(seconds{60}));
    CHECK(filled(20, seconds{60}, {}).covers_be(seconds{60}));
    CpuWindow slow;  // one sample each minute
    slow.add({MonoTime{seconds{1000}}, seconds{60}, MilliCpu{1}, {}}, seconds{60});
    CHECK(slow.covers(seconds{60}));
    CHECK_FALSE(slow.covers_be(seconds{60}));  // a series without a sample does not count
  }

  TEST_CASE("the window is bounded, drops what is old and averages exactly") {
    const auto minute = filled(100, seconds{60});
    CHECK(minute.slots() == 61);
    CHECK(minute.node_mean() == MilliCpu{1000 + (39 + 99) / 2});
    const auto hour = filled(3600, seconds{3600}, {10, 20, 30});
    CHECK(hour.slots() <= 61);
    CHECK(hour.be_mean() == BeCpuLoad{10, 20, 30});
    CHECK_FALSE(CpuWindow{}.node_mean().has_value());
    CHECK_FALSE(CpuWindow{}.be_mean().has_value());
  }

  TEST_CASE("CEV-4: 52.3 of 64 cores: 81 % in whole percents, down to 78: 1920 m") {
    UseMarks m;
    m.threshold_percent = 80;
    m.whole_percent = true;
    CHECK(need_of(use_need(52'300, 64'000, m)) == 1920);
    m.whole_percent = false;  // exact: 52300 - 78 % of 64000
    CHECK(need_of(use_need(52'300, 64'000, m)) == 2380);
    CHECK(use_need(52'300, 64'000, m)->rescue == 52'300 - 51'199);
    CHECK_FALSE(use_need(51'199, 64'000, m).has_value());
  }

  TEST_CASE("MEV-2: 70.99 % from a NodeSLO threshold counts as 70: 2 % of the capacity") {
    UseMarks m;
    m.whole_percent = true;
    const std::int64_t percent = gib(100).v / 100;
    CHECK(need_of(use_need(percent * 7099 / 100, gib(100).v, m)) == gib(2).v);
    CHECK_FALSE(use_need(percent * 6999 / 100, gib(100).v, m).has_value());
  }

  TEST_CASE("CEV-5, MEV-3: requests over 110 % of what the node offers, down to 100 %") {
    const AllocatableEvictConfig m;
    CHECK(need_of(request_need(24'000, 20'000, m)) == 4000);
    CHECK_FALSE(request_need(22'000, 20'000, m).has_value());
    CHECK(request_need(22'001, 20'000, m)->rescue == 1);
    CHECK(need_of(request_need(gib(50).v, gib(40).v, m)) == gib(10).v);
    CHECK(need_of(request_need(500, 0, m)) == 500);  // nothing is offered any more
    CHECK_FALSE(request_need(0, 0, m).has_value());
    constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
    CHECK_FALSE(request_need(kMost, kMost, m).has_value());
  }

  TEST_CASE("the limit of BE is its root's own quota or cpuset, caps of pods do not count") {
    World world{64'000};
    world.pods.push_back(be_pod("a", 4000));
    CHECK_FALSE(be_real_limit(world.snap()).has_value());
    world.be_root->cpu_max = quota(1'200'000);
    CHECK(be_real_limit(world.snap()) == MilliCpu{12'000});
    world.be_root->cpuset = CpuSet::parse("0-7").value();
    CHECK(be_real_limit(world.snap()) == MilliCpu{8000});
    world.be_root->cpu_max = quota(200'000);
    CHECK(be_real_limit(world.snap()) == MilliCpu{2000});
    world.be_root.reset();
    CHECK_FALSE(be_real_limit(world.snap()).has_value());
  }

  TEST_CASE("the node's batch-cpu as limit: not stated is no limit, 0 counts as 1 milli") {
    World world{64'000};
    CHECK_FALSE(be_allocatable_limit(world.snap()).has_value());
    world.node.batch_cpu_allocatable = MilliCpu{-1};
    CHECK_FALSE(be_allocatable_limit(world.snap()).has_value());
    world.node.batch_cpu_allocatable = MilliCpu{0};
    CHECK(be_allocatable_limit(world.snap()) == MilliCpu{1});
    CHECK_FALSE(be_allocatable_limit(world.snap_without_node()).has_value());
  }
}
