#include "sim/node_model.hpp"

#include <doctest/doctest.h>

using namespace koordlet;
using namespace koordlet::sim;
using namespace std::chrono_literals;
using doctest::Approx;

namespace {

PodGroup group(std::string name, QosClass qos, int count, std::int64_t request, double demand) {
  PodGroup out;
  out.name = std::move(name);
  out.qos = qos;
  out.count = count;
  out.request = MilliCpu{request};
  out.demand.value = demand;
  return out;
}

Scenario ten_cores() {
  Scenario s;
  s.node.cpus = 10;
  s.node.memory = Bytes{10'000};
  s.duration = 1min;
  s.groups = {group("web", QosClass::kLs, 2, 2000, 2.0),
              group("batch", QosClass::kBe, 4, 1000, 1.0)};
  return s;
}

constexpr MonoTime kThen = VirtualClock::kStart + 1s;

}  // namespace

TEST_SUITE("sim/node_model") {
  TEST_CASE("kubelet's weights: BE gets what LS leaves") {
    auto s = ten_cores();
    s.groups[0].demand.value = 4.5;
    CgroupTree tree{CgroupVersion::kV2, 10};
    NodeModel node{s, tree};
    const auto use = node.step(0s, 1s);
    // 4000 shares against 2: BE gets about a 150th while LS wants more than is left.
    CHECK(use.ls_used == Approx(9));
    CHECK(use.be_used == Approx(1));
    CHECK(use.be_demand == Approx(4));
  }
  TEST_CASE("what is written to the tree bounds the next step") {
    const auto s = ten_cores();
    CgroupTree tree{CgroupVersion::kV2, 10};
    NodeModel node{s, tree};
    CHECK(node.step(0s, 1s).be_used == Approx(4));
    CHECK_FALSE(node.be_cap());
    for (const auto& pod : node.state(kThen)->pods) {
      if (pod->qos != QosClass::kBe) continue;
      REQUIRE(tree.write({pod->cgroup, CgroupFile::kCpuMax},
                         CpuMax{Limit{std::chrono::microseconds{30'000}}, 100ms}));
    }
    CHECK(*node.be_cap() == Approx(1.2));
    CHECK(node.step(1s, 1s).be_used == Approx(1.2));
    REQUIRE(tree.write({node.be_root()->path, CgroupFile::kCpuset}, CpuSet::range(0, 0)));
    CHECK(node.step(2s, 1s).be_used == Approx(1.0));
  }
  TEST_CASE("a sample is the mean since the last one, and has a new number") {
    auto s = ten_cores();
    s.node.system_cpu = 0.5;
    s.groups[0].demand.curve = Demand::Curve::kSteps;
    s.groups[0].demand.steps = {{0s, 1.0}, {1s, 2.0}};
    CgroupTree tree{CgroupVersion::kV1, 10};
    NodeModel node{s, tree};
    node.step(0s, 1s);
    node.step(1s, 1s);
    const auto first = node.sample(kThen);
    CHECK(first.node_used.v == 7500);  // 0.5 + 4 + mean of 2 and 4
    CHECK(first.kubepods_used->v == 7000);
    CHECK(first.be_used->v == 4000);
    node.step(2s, 1s);
    const auto second = node.sample(kThen + 1s);
    CHECK(second.seq == first.seq + 1);
    CHECK(second.node_used.v == 8500);
  }
  TEST_CASE(
      "an evicted pod is terminating until its grace time is over, then gone with its memory") {
    auto s = ten_cores();
    s.evict_grace = 2s;
    s.groups[1].memory.start = Bytes{1000};
    CgroupTree tree{CgroupVersion::kV2, 10};
    NodeModel node{s, tree};
    REQUIRE(node.evict("batch-00001", 1s));
    CHECK_FALSE(node.evict("batch-00001", 1s));
    CHECK_FALSE(node.evict("nobody", 1s));
    const auto* pod = find_pod(*node.state(kThen), "batch-00001");
    REQUIRE(pod != nullptr);
    CHECK(pod->terminating);
    const CgroupKey key{pod->cgroup, CgroupFile::kCpuMax};
    CHECK(node.step(2s, 1s).memory == Bytes{4000});
    CHECK(node.step(3s, 1s).memory == Bytes{3000});
    CHECK(find_pod(*node.state(kThen), "batch-00001") == nullptr);
    CHECK_FALSE(tree.has(key));
  }
  TEST_CASE(
      "memory grows by its rate up to the pod's limit, and all together up to the node's size") {
    auto s = ten_cores();
    s.groups[0].memory = {Bytes{100}, Bytes{50}, Bytes{220}};
    s.groups[1].memory = {Bytes{0}, Bytes{700}, Bytes{0}};
    CgroupTree tree{CgroupVersion::kV2, 10};
    NodeModel node{s, tree};
    CHECK(node.step(0s, 1s).memory == Bytes{2 * 150 + 4 * 700});
    CHECK(node.step(1s, 1s).memory == Bytes{2 * 200 + 4 * 1400});
    CHECK(node.step(2s, 1s).memory == Bytes{2 * 220 + 4 * 2100});
    CHECK(node.step(3s, 1s).memory == Bytes{10'000});
    node.collect_pods(kThen);
    CHECK(*node.pods().at("web-00000").memory == Bytes{220});
  }
  TEST_CASE("memory.high and memory.reclaim of the BE root move memory to swap until it is full") {
    auto s = ten_cores();
    s.node.swap = Bytes{10'000};
    s.node.memory = Bytes{1 << 20};
    s.groups[0].memory.start = Bytes{1000};
    s.groups[1].memory.start = Bytes{5000};
    CgroupTree tree{CgroupVersion::kV2, 10};
    NodeModel node{s, tree};
    CHECK(node.be_root()->memory == Bytes{20'000});
    CHECK(node.reclaim(Bytes{2000}) == Bytes{2000});
    CHECK(node.be_root()->memory == Bytes{18'000});
    REQUIRE(
        tree.write({node.be_root()->path, CgroupFile::kMemoryHigh}, MemoryBound{Bytes{16'384}}));
    CHECK(node.step(0s, 1s).memory == Bytes{18'384});
    CHECK(node.reclaim(Bytes{10'000}) == Bytes{6384});  // 10000 - 2000 - 1616
    CHECK(node.reclaim(Bytes{1}) == Bytes{});
    REQUIRE(node.evict("batch-00000", 0s));
    node.step(s.evict_grace, 1s);
    CHECK(node.reclaim(Bytes{1 << 20}) == Bytes{2500});  // a quarter of the swap was its
  }
  TEST_CASE("without swap nothing of a pod's memory can be reclaimed") {
    auto s = ten_cores();
    s.groups[1].memory.start = Bytes{1000};
    CgroupTree tree{CgroupVersion::kV2, 10};
    NodeModel node{s, tree};
    CHECK(node.reclaim(Bytes{500}) == Bytes{});
    CHECK(node.be_root()->memory == Bytes{4000});
  }
  TEST_CASE("events: a group grows and shrinks, its pods' names are never used twice") {
    const auto s = ten_cores();
    CgroupTree tree{CgroupVersion::kV2, 10};
    NodeModel node{s, tree};
    Event e;
    e.group = "batch";
    e.count = 1;
    node.apply(e);
    CHECK(node.state(kThen)->pods.size() == 3);
    e.count = 2;
    node.apply(e);
    CHECK(find_pod(*node.state(kThen), "batch-00004") != nullptr);
    CHECK(node.step(0s, 1s).be_pods == 2);
  }
  TEST_CASE("an API server that is away confirms nothing") {
    const auto s = ten_cores();
    CgroupTree tree{CgroupVersion::kV2, 10};
    NodeModel node{s, tree};
    CHECK(node.state(kThen)->pods_at == kThen);
    Event e;
    e.api = false;
    node.apply(e);
    CHECK_FALSE(node.api_answers());
    CHECK(node.state(kThen + 5s)->pods_at == kThen);
  }
  TEST_CASE("a held pod is shown as throttled, one without a quota has no such figure") {
    auto s = ten_cores();
    s.groups[1].limit = MilliCpu{500};
    CgroupTree tree{CgroupVersion::kV2, 10};
    NodeModel node{s, tree};
    node.step(0s, 1s);
    node.collect_pods(kThen);
    CHECK(node.pods().at("batch-00000").cpu->v == 500);
    CHECK(node.pods().at("batch-00000").throttled->v == 500);
    CHECK_FALSE(node.pods().at("web-00000").throttled);
  }
}
