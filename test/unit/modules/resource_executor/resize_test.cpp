#include <doctest/doctest.h>

#include "unit/modules/resource_executor/rig.hpp"

using namespace koordlet;
using namespace koordlet::test;
using namespace std::chrono_literals;

namespace {

struct Bed : Rig {
  Bed() : Rig{CgroupVersion::kV2} {
    tree.make("kubepods/pod");
    tree.set(pod, cpu_max(400'000));
    apply_one(pod, cpu_max(120'000));
  }
  void kubelet_writes(std::int64_t quota_us) { tree.set(pod, cpu_max(quota_us)); }
  void resize() { executor->note_resized({path}, clock.now()); }
  /// Gives everything back; the text that stands there then.
  std::string given_back() {
    apply({});
    return tree.text(pod);
  }

  const CgroupPath path = CgroupPath::parse("kubepods/pod").value();
  const CgroupKey pod = key_of("kubepods/pod", CgroupFile::kCpuMax);
};

}  // namespace

TEST_SUITE("executor/in-place resize") {
  TEST_CASE("kubelet writes after its object told of the resize: the new original, no contest") {
    Bed b;
    b.resize();
    b.clock.advance(5s);
    b.kubelet_writes(800'000);
    CHECK(b.apply_one(b.pod, cpu_max(120'000)).kind == OutcomeKind::kWritten);
    CHECK(b.held(b.pod).original == "800000 100000");
    CHECK(b.held(b.pod).foreign_writes == 0);
    CHECK(b.executor->counters().foreign == 0);
    CHECK(b.given_back() == "800000 100000");
  }

  TEST_CASE("kubelet writes first: the value that was overwritten is the new original") {
    Bed b;
    for (int i = 0; i < 4; ++i) {  // it tries again each time: contested, until the reason is known
      b.kubelet_writes(800'000);
      b.apply_one(b.pod, cpu_max(120'000));
      b.clock.advance(1s);
    }
    CHECK(b.held(b.pod).contested);
    b.resize();
    CHECK_FALSE(b.held(b.pod).contested);
    CHECK(b.held(b.pod).original == "800000 100000");
    CHECK(b.given_back() == "800000 100000");
  }

  TEST_CASE("kubelet writes our very wish: it is the original all the same") {
    Bed b;
    b.resize();
    b.kubelet_writes(800'000);
    b.apply_one(b.pod, cpu_max(800'000));
    CHECK(b.held(b.pod).original == "800000 100000");
  }

  TEST_CASE("two minutes later a foreign value is foreign again") {
    Bed b;
    b.resize();
    b.clock.advance(121s);
    b.kubelet_writes(800'000);
    b.apply_one(b.pod, cpu_max(120'000));
    CHECK(b.held(b.pod).original == "400000 100000");
    CHECK(b.held(b.pod).foreign_writes == 1);
  }

  TEST_CASE("an older foreign value, another pod, another kind of file: nothing changes") {
    Bed b;
    b.tree.make("kubepods/pod2");
    const auto other = key_of("kubepods/pod2", CgroupFile::kCpuMax);
    const auto set = key_of("kubepods/pod", CgroupFile::kCpuset);
    const DesiredTable all{{b.pod, wish(cpu_max(120'000))},
                           {other, wish(cpu_max(120'000))},
                           {set, wish(CpuSet::range(0, 1))}};
    b.apply(all);
    b.kubelet_writes(800'000);
    b.apply(all);
    b.clock.advance(121s);
    b.resize();
    CHECK(b.held(b.pod).original == "400000 100000");
    b.tree.set(other, cpu_max(800'000));
    b.tree.set(set, CpuSet::range(0, 3));
    b.apply(all);
    CHECK(b.held(other).foreign_writes == 1);
    CHECK(b.held(set).foreign_writes == 1);
  }

  TEST_CASE("containers of the pod are meant too") {
    Bed b;
    b.tree.make("kubepods/pod/c");
    const auto inner = key_of("kubepods/pod/c", CgroupFile::kCpuMax);
    const DesiredTable all{{b.pod, wish(cpu_max(120'000))}, {inner, wish(cpu_max(120'000))}};
    b.apply(all);
    b.resize();
    b.tree.set(inner, cpu_max(800'000));
    b.apply(all);
    CHECK(b.held(inner).original == "800000 100000");
  }
}
