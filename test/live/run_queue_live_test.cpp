#include <doctest/doctest.h>

#include "bpf_kit.hpp"
#include "modules/metric_advisor/run_queue_source.hpp"
#include "support/skip.hpp"

using namespace koordlet;
using namespace koordlet::kernel;
using namespace koordlet::test;
using namespace std::chrono_literals;

namespace {

int last_cpu() { return static_cast<int>(std::thread::hardware_concurrency()) - 1; }

/// Two busy loops of one cgroup on one CPU wait for each other.
void run_two_loops(const LiveCgroup& group) {
  const HeldProcess a{group, last_cpu(), spin};
  const HeldProcess b{group, last_cpu(), spin};
  REQUIRE(a.ok());
  REQUIRE(b.ok());
  a.go();
  b.go();
  std::this_thread::sleep_for(300ms);
  REQUIRE(b.halt());
  REQUIRE(a.halt());
}

}  // namespace

TEST_SUITE("live/run_queue") {
  TEST_CASE("a cgroup made anew under its path is measured as the first one was") {
    const auto version = detect_cgroup_version({});
    REQUIRE(version.has_value());
    const HostRoots roots;
    CgroupFs cgroups{roots, *version};
    RunQueueSource source{roots, cgroups};
    source.open(true);
    KOORDLET_SKIP_UNLESS(source.kind() == RunQueueSource::Kind::kBpf, source.why_not().c_str());
    const auto name = fmt::format("koordlet-test-{}-again", ::getpid());
    const auto path = CgroupPath::parse(name).value();
    const auto tree = roots.cgroup + (*version == CgroupVersion::kV1 ? "/cpu/" : "/");
    Inode first = 0;
    for (int life = 0; life < 2; ++life) {
      CAPTURE(life);
      const LiveCgroup group{tree + name};
      REQUIRE(group.ok());
      if (life == 0) first = group.id();
      if (life == 1) REQUIRE(group.id() != first);
      // Of a new cgroup there is nothing to compare with, least of all the counters of the old one.
      CHECK_FALSE(source.advance({path}));
      run_two_loops(group);
      const auto seen = source.advance({path});
      REQUIRE(seen.has_value());
      CHECK(seen->wait > 100ms);
      CHECK(seen->dispatches > 0);
    }
    CHECK_FALSE(source.advance({path}));
    source.keep_only({});
  }
}
