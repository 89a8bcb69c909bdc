#include <algorithm>
#include <numeric>

#include <doctest/doctest.h>

#include "bpf_kit.hpp"
#include "kernel/sched_latency.hpp"
#include "support/skip.hpp"

using namespace koordlet;
using namespace koordlet::kernel;
using namespace koordlet::test;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

namespace {

/// On v1 the cpu hierarchy's.
std::string cpu_tree() {
  const auto version = detect_cgroup_version({});
  if (!version) return {};
  const bool v1 = *version == CgroupVersion::kV1;
  return HostRoots{}.cgroup + (v1 ? "/cpu" : "");
}

std::string group_name(std::string_view suffix) {
  return fmt::format("{}/koordlet-test-{}-{}", cpu_tree(), ::getpid(), suffix);
}

/// The last CPU is the least busy one by custom.
int test_cpu() { return static_cast<int>(std::thread::hardware_concurrency()) - 1; }

/// Two groups with a busy loop each on one CPU, and the probe. Tests are skipped where `why` says
/// something.
struct TwoLoops {
  LiveCgroup group_a{group_name("a")}, group_b{group_name("b")};
  std::optional<HeldProcess> a, b;
  std::unique_ptr<SchedLatency> probe;
  std::string why;

  explicit TwoLoops(std::size_t max_cgroups = 4096) {
    if (!group_a.ok() || !group_b.ok()) {
      why = "no writable cpu cgroups (root is needed)";
      return;
    }
    for (const auto* group : {&group_a, &group_b}) {  // so that others on this CPU count little
      const bool v2 = write_file(group->file("cpu.weight"), "10000").has_value();
      if (!v2) static_cast<void>(write_file(group->file("cpu.shares"), "262144").has_value());
    }
    a.emplace(group_a, test_cpu(), spin);
    b.emplace(group_b, test_cpu(), spin);
    if (!a->ok() || !b->ok()) {
      why = "a process cannot enter the cgroup";
      return;
    }
    auto opened = SchedLatency::open(detect_cgroup_version({}).value(), max_cgroups);
    if (opened) {
      probe = std::move(*opened);
    } else if (opened.error().code == Errc::kNotSupported || opened.error().code == Errc::kDenied) {
      why = opened.error().context;
    } else {
      FAIL(opened.error().context);
    }
  }

  RunQueueCounters read(const LiveCgroup& group) const {
    const auto got = probe->read(group.id());
    REQUIRE(got.has_value());
    return got->value_or(RunQueueCounters{});
  }
  /// b runs only while a does, so everything that b gets, a waits for.
  void compete(milliseconds for_how_long) const {
    a->go();
    b->go();
    std::this_thread::sleep_for(for_how_long);
    REQUIRE(b->halt());
    REQUIRE(a->halt());
  }
};

#define SKIP_IF(two) KOORDLET_SKIP_UNLESS((two).why.empty(), (two).why.c_str())

double share(nanoseconds part, nanoseconds whole) {
  return static_cast<double>(part.count()) / static_cast<double>(whole.count());
}

void check_consistent(const RunQueueCounters& c) {
  REQUIRE(c.slots.has_value());
  REQUIRE(c.behind_best_effort.has_value());
  CHECK(std::accumulate(c.slots->begin(), c.slots->end(), std::uint64_t{0}) == c.dispatches);
  CHECK(*c.behind_best_effort <= c.wait);
  CHECK_FALSE(c.run.has_value());
  std::uint64_t least_us = 0;
  for (std::size_t i = 1; i < kLatencySlots; ++i) least_us += (*c.slots)[i] << (i - 1);
  CHECK(c.wait >= std::chrono::microseconds{least_us});
}

}  // namespace

bool same_but(std::uint64_t few, std::uint64_t one, std::uint64_t other) {
  return one <= other + few && other <= one + few;
}

TEST_SUITE("live/sched_latency") {
  TEST_CASE("two busy loops on one CPU: each waits about half of the time, as schedstat says") {
    const TwoLoops two;
    SKIP_IF(two);
    const auto before_a = two.a->sched_stat(), before_b = two.b->sched_stat();
    const auto start = std::chrono::steady_clock::now();
    two.compete(milliseconds{2000});
    const nanoseconds wall = std::chrono::steady_clock::now() - start;
    const auto a = two.read(two.group_a), b = two.read(two.group_b);
    const auto after_a = two.a->sched_stat(), after_b = two.b->sched_stat();

    check_consistent(a);
    check_consistent(b);
    CHECK(a.dispatches > 2);
    CHECK(b.dispatches > 2);
    CHECK(share(a.wait, wall) > 0.3);
    CHECK(share(a.wait, wall) < 0.8);
    CHECK(share(b.wait, wall) > 0.3);
    CHECK(share(b.wait, wall) < 0.8);
    CHECK(*a.behind_best_effort == nanoseconds{0});
    CHECK(*b.behind_best_effort == nanoseconds{0});
    CHECK(two.probe->dropped() == 0);
    const auto typical = quantile(*a.slots, 0.5);
    REQUIRE(typical.has_value());
    CHECK(*typical < wall);

    KOORDLET_SKIP_UNLESS(before_a && before_b && after_a && after_b, "no schedstat to compare");
    // The two are read one after the other, and the kernel counts a return from a stop that the
    // probe does not see as a dispatch: as far apart as the waits may be.
    const auto dispatches_a = after_a->dispatches - before_a->dispatches;
    const auto dispatches_b = after_b->dispatches - before_b->dispatches;
    CHECK(same_but(2 + dispatches_a / 20, a.dispatches, dispatches_a));
    CHECK(same_but(2 + dispatches_b / 20, b.dispatches, dispatches_b));
    CHECK(share(a.wait, after_a->wait - before_a->wait) == doctest::Approx(1).epsilon(0.05));
    CHECK(share(b.wait, after_b->wait - before_b->wait) == doctest::Approx(1).epsilon(0.05));
  }

  TEST_CASE("behind best effort: what the listed loop ran is what the other waited behind it") {
    const TwoLoops two;
    SKIP_IF(two);
    REQUIRE(two.probe->set_best_effort({two.group_b.id()}).has_value());
    const auto before = two.b->sched_stat();
    two.compete(milliseconds{2000});
    const auto after = two.b->sched_stat();
    const auto a = two.read(two.group_a), b = two.read(two.group_b);
    check_consistent(a);
    check_consistent(b);
    CHECK(share(*a.behind_best_effort, a.wait) > 0.7);  // 1 where nobody else is on this CPU
    if (before && after) {
      // Interrupts on its CPU are not part of what the kernel says that a task ran.
      const auto ran = after->run - before->run;
      CHECK(share(*a.behind_best_effort, ran) > 0.97);
      CHECK(share(*a.behind_best_effort, ran) < 1.25);
    }
    // b waited behind a, which is not best effort.
    CHECK(share(*b.behind_best_effort, b.wait) < 0.05);

    // No longer listed: nothing is added.
    REQUIRE(two.probe->set_best_effort({}).has_value());
    two.compete(milliseconds{300});
    const auto later = two.read(two.group_a);
    CHECK(later.wait > a.wait);
    CHECK(*later.behind_best_effort == *a.behind_best_effort);
  }

  TEST_CASE("a group that only sleeps is not in the table, one that wakes has short waits") {
    const LiveCgroup asleep{group_name("asleep")}, wakes{group_name("wakes")};
    KOORDLET_SKIP_UNLESS(asleep.ok() && wakes.ok(), "no writable cpu cgroups (root is needed)");
    const HeldProcess sleeper{asleep, test_cpu(), [] { ::pause(); }};
    const HeldProcess waker{wakes, test_cpu(), [] { ::usleep(1000); }};
    REQUIRE(sleeper.ok());
    REQUIRE(waker.ok());
    sleeper.go();
    REQUIRE(sleeper.falls_asleep());
    const auto probe = SchedLatency::open(detect_cgroup_version({}).value());
    KOORDLET_SKIP_UNLESS(probe.has_value(), probe.error().context.c_str());
    waker.go();
    std::this_thread::sleep_for(milliseconds{500});
    REQUIRE(waker.halt());
    CHECK_FALSE((*probe)->read(asleep.id()).value().has_value());
    const auto c = (*probe)->read(wakes.id()).value();
    REQUIRE(c.has_value());
    check_consistent(*c);
    CHECK(c->dispatches > 2);
  }

  TEST_CASE("forget and keep_only free counters, which then start anew") {
    const TwoLoops two;
    SKIP_IF(two);
    two.compete(milliseconds{200});
    const auto a = two.group_a.id(), b = two.group_b.id();
    REQUIRE(two.probe->read(a).value().has_value());
    REQUIRE(two.probe->read(b).value().has_value());
    const auto erased = two.probe->keep_only({a});
    REQUIRE(erased.has_value());
    CHECK(*erased >= 1);
    CHECK(two.probe->read(a).value().has_value());
    CHECK_FALSE(two.probe->read(b).value().has_value());
    two.probe->forget(a);
    two.probe->forget(a);
    two.probe->forget(0);
    CHECK_FALSE(two.probe->read(a).value().has_value());
    two.compete(milliseconds{200});
    CHECK(two.read(two.group_a).dispatches > 0);
    CHECK(two.read(two.group_a).wait < milliseconds{400});
  }

  TEST_CASE("more cgroups than the table holds are counted as dropped, until some are freed") {
    const TwoLoops two{1};
    SKIP_IF(two);
    two.compete(milliseconds{300});
    CHECK(two.probe->dropped() > 0);
    const auto none = two.probe->keep_only({});
    REQUIRE(none.has_value());
    CHECK(*none == 1);
    const auto listed = two.probe->set_best_effort({1, 2});
    REQUIRE(listed.has_error());
    CHECK(listed.error().code == Errc::kRange);
    CHECK(two.probe->set_best_effort({2, 2}).has_value());
    CHECK(two.probe->set_best_effort({1}).has_value());
  }

  TEST_CASE("nothing of it is left in the kernel when the object is gone") {
    const auto held = held_bpf_programs();
    const auto descriptors = open_descriptors();
    auto probe = SchedLatency::open(detect_cgroup_version({}).value());
    KOORDLET_SKIP_UNLESS(probe.has_value(), probe.error().context.c_str());
    auto ours = held_bpf_programs();
    for (const auto id : held) ours.erase(id);
    CHECK(ours.size() == 5);
    probe->reset();
    CHECK(open_descriptors() == descriptors);
    CHECK(left_bpf_programs(ours) == 0);
  }

  TEST_CASE("without rights it says so, and nothing on stderr") {
    KOORDLET_SKIP_UNLESS(::geteuid() == 0, "root is needed to give up rights");
    const int code = as_nobody([] {
      const auto r = SchedLatency::open(CgroupVersion::kV2);
      return r ? 0 : static_cast<int>(r.error().code);
    });
    CHECK(code == static_cast<int>(Errc::kDenied));
  }

  TEST_CASE("a table of no cgroups or of too many is refused before the kernel is asked") {
    CHECK(SchedLatency::open(CgroupVersion::kV2, 0).error().code == Errc::kRange);
    CHECK(SchedLatency::open(CgroupVersion::kV2, std::size_t{1} << 40).error().code ==
          Errc::kRange);
  }
}
