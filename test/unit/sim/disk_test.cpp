#include "sim/disk.hpp"

#include <doctest/doctest.h>

#include "sim/node_model.hpp"

using namespace koordlet;
using namespace koordlet::sim;
using namespace std::chrono_literals;
using doctest::Approx;

namespace {

/// 1000 bytes or 100 operations a second.
DiskSpec slow_disk() {
  DiskSpec out;
  out.name = "vdb";
  out.number = "8:16";
  out.bytes_per_second = 1000;
  out.ops_per_second = 100;
  out.queue = 10;
  return out;
}

IoGroup user(int parent, IoLoad demand, double weight = 100) {
  IoGroup out;
  out.parent = parent;
  out.demand = demand;
  out.weight = weight;
  return out;
}

/// A root, and below it two groups that write so many bytes, ten to an operation: 10 bytes need
/// 1 / 100 + 10 / 1000 = 2 % of the disk.
std::vector<IoGroup> writers(double a, double b, double weight_a = 100, double weight_b = 100) {
  return {IoGroup{}, user(0, {0, a, 0, a / 10}, weight_a), user(0, {0, b, 0, b / 10}, weight_b)};
}

PodGroup pods(std::string name, QosClass qos, IoLoad load) {
  PodGroup out;
  out.name = std::move(name);
  out.qos = qos;
  out.io = IoUse{0, load, 2};
  return out;
}

}  // namespace

TEST_SUITE("sim/disk") {
  TEST_CASE("time on the disk: a part an operation, a part a byte") {
    CHECK(busy_share(slow_disk(), {}) == 0);
    CHECK(busy_share(slow_disk(), {0, 100, 0, 10}) == Approx(0.2));
    CHECK(busy_share(slow_disk(), {500, 500, 50, 50}) == Approx(2.0));
  }
  TEST_CASE("below its capacity everybody gets what it asks for") {
    auto groups = writers(200, 300);
    share_disk(groups, slow_disk(), false);
    CHECK(groups[1].given.write_bytes == Approx(200));
    CHECK(groups[2].given.writes == Approx(30));
  }
  TEST_CASE("one queue: above the capacity each gets the same share of what it asks for") {
    auto groups = writers(250, 750);  // 50 % and 150 % of the disk
    share_disk(groups, slow_disk(), false);
    CHECK(groups[1].given.write_bytes == Approx(125));
    CHECK(groups[2].given.write_bytes == Approx(375));
  }
  TEST_CASE("by weight: who asks for less than its share gets it, the rest is split") {
    auto groups = writers(100, 750, 300, 100);
    share_disk(groups, slow_disk(), true);
    CHECK(groups[1].given.write_bytes == Approx(100));
    CHECK(groups[2].given.write_bytes == Approx(400));
    groups = writers(750, 750, 300, 100);
    share_disk(groups, slow_disk(), true);
    CHECK(groups[1].given.write_bytes == Approx(375));
    CHECK(groups[2].given.write_bytes == Approx(125));
  }
  TEST_CASE("a limit holds for all below it together, reads and writes apart") {
    std::vector<IoGroup> groups{
        IoGroup{}, user(0, {}), user(1, {100, 40, 10, 4}), user(1, {100, 0, 10, 0})};
    groups[1].max.read_bytes = IoMax::Rate{50};
    groups[3].max.read_ops = IoMax::Rate{5};
    share_disk(groups, slow_disk(), false);
    // 100 + 50 bytes arrive at the limit of 50: a third of each.
    CHECK(groups[2].allowed.read_bytes == Approx(100.0 / 3));
    CHECK(groups[3].allowed.read_bytes == Approx(50.0 / 3));
    CHECK(groups[3].allowed.reads == Approx(5.0 / 3));
    CHECK(groups[2].allowed.write_bytes == 40);
  }
  TEST_CASE("reads: the idle percentile / (1 - busy), up to a whole queue before them") {
    const auto disk = slow_disk();
    CHECK(read_p99_ms(2, disk, {}) == 2);
    CHECK(read_p99_ms(2, disk, {0, 250, 0, 25}) == Approx(4));  // half busy
    // Operations of 10 bytes take 20 ms each; ten of them stand before a read.
    CHECK(read_p99_ms(2, disk, {0, 1000, 0, 100}) == Approx(202));
    CHECK(read_p99_ms(2, disk, {0, 498, 0, 49.8}) == Approx(202));  // 2 / 0.004 would be more
  }
}

TEST_SUITE("sim/node_disk") {
  TEST_CASE("limits in the tree bound the next step, and the usage of the pods shows it") {
    Scenario s;
    s.disks = {slow_disk()};
    s.groups = {pods("db", QosClass::kLs, {100, 0, 10, 0}),
                pods("copy", QosClass::kBe, {0, 600, 0, 60})};
    for (const auto version : {CgroupVersion::kV1, CgroupVersion::kV2}) {
      s.node.cgroup = version;
      CgroupTree tree{version};
      NodeModel node{s, tree};
      auto use = node.step(0s, 1s).disk;
      CHECK(use.busy_percent == Approx(140));
      CHECK(use.be_bytes == Approx(600 / 1.4));
      CHECK(use.ls_read_p99_ms == Approx(202));
      CHECK_FALSE(use.be_held);
      IoMax max;
      max.write_bytes = IoMax::Rate{150};
      REQUIRE(tree.write({node.be_root()->path, CgroupFile::kIoMax, "8:16"}, max));
      CHECK(node.disk_use().be_held);
      use = node.step(1s, 1s).disk;
      CHECK(use.busy_percent == Approx(50));
      CHECK(use.ls_read_p99_ms == Approx(4));
      CHECK(use.be_bytes == Approx(150));
      node.collect_pods(VirtualClock::kStart + 2s);
      CHECK(node.pods().at("copy-00000").io->write_bytes == 289);  // mean of 600 / 1.4 and 150
      CHECK(node.pods().at("db-00000").io->reads == 9);            // 10 / 1.4 and 10
    }
  }
  TEST_CASE("io.cost.qos of the root switches weights on") {
    Scenario s;
    s.disks = {slow_disk()};
    s.groups = {pods("db", QosClass::kLs, {400, 0, 40, 0}),
                pods("copy", QosClass::kBe, {0, 800, 0, 80})};
    CgroupTree tree{CgroupVersion::kV2};
    NodeModel node{s, tree};
    REQUIRE(tree.write({node.be_root()->path, CgroupFile::kIoWeight, "8:16"}, Number{25}));
    CHECK(node.disk_use().ls_bytes == Approx(400 / 2.4));
    REQUIRE(tree.write({CgroupPath{}, CgroupFile::kIoCostQos, "8:16"}, Line{"enable=1 ctrl=auto"}));
    CHECK(node.disk_use().ls_bytes == Approx(400));  // 80 % of the disk: its share is 80 %
    CHECK(node.disk_use().be_bytes == Approx(100));
  }
  TEST_CASE("a pod that never touches a disk has no io figures") {
    Scenario s;
    s.groups = {pods("web", QosClass::kLs, {})};
    s.groups[0].io.reset();
    CgroupTree tree{CgroupVersion::kV2};
    NodeModel node{s, tree};
    node.step(0s, 1s);
    node.collect_pods(VirtualClock::kStart + 1s);
    CHECK_FALSE(node.pods().at("web-00000").io);
    CHECK(node.disk_use().busy_percent == 0);
  }
  TEST_CASE("the NodeSLO is there from its moment on, unless the API server is away") {
    Scenario s;
    s.node_slo = TimedSlo{2s, NodeSlo{}};
    s.groups = {pods("web", QosClass::kLs, {})};
    s.groups[0].io.reset();
    CgroupTree tree{CgroupVersion::kV2};
    NodeModel node{s, tree};
    CHECK(node.state(VirtualClock::kStart + 1s)->slo == nullptr);
    Event e;
    e.api = false;
    node.apply(e);
    CHECK(node.state(VirtualClock::kStart + 2s)->slo == nullptr);
    e.api = true;
    node.apply(e);
    CHECK(node.state(VirtualClock::kStart + 3s)->slo != nullptr);
  }
}
