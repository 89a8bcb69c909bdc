#include "policy/blkio.hpp"

#include <doctest/doctest.h>

#include "policy/block_devices.hpp"
#include "unit/policy/world.hpp"

using namespace koordlet;
using namespace koordlet::policy;
using namespace koordlet::test;

namespace {

/// vdb with a partition, vdc with a volume group "data" of two disks, and a CSI volume on it.
StorageTable storage() {
  StorageTable out;
  out.devices = {{"vdb", "253:16", {"253:16"}, "", ""},
                 {"vdb1", "253:17", {"253:16"}, "", ""},
                 {"vdc", "253:32", {"253:32"}, "", ""},
                 {"vdd", "253:48", {"253:48"}, "", ""},
                 {"dm-0", "252:0", {"253:32", "253:48"}, "data-lv1", "data"}};
  out.mounts = {{"/", "253:16"},
                {"/var/lib/kubelet/pods/u1/volumes/kubernetes.io~csi/pvc-1/mount", "252:0"},
                {"/var/lib/kubelet/pods/u2/volumes/kubernetes.io~csi/pvc-2/mount", "253:17"}};
  return out;
}

IoBlock block(std::string name, IoBlockKind kind = IoBlockKind::kDevice) {
  IoBlock out;
  out.name = std::move(name);
  out.kind = kind;
  return out;
}

std::string disks(const IoBlock& b, const Pod* pod = nullptr) {
  const auto found = resolve_block(storage(), b, pod);
  if (!found) return "error: " + found.error().context;
  std::string out;
  for (const auto& d : *found) out += (out.empty() ? "" : " ") + d;
  return out;
}

struct Bed {
  World world{4000};
  EffectiveConfig config;
  std::shared_ptr<const StorageTable> table = std::make_shared<const StorageTable>(storage());
  bool has_root = true;

  Decision<BlkIo::State> decide() {
    auto snap = world.snap();
    snap.storage = table;
    if (!has_root) snap.be_root.reset();
    return BlkIo::decide(snap, config, {});
  }
  /// Every proposal as "/cgroup file item = value".
  std::vector<std::string> lines() {
    std::vector<std::string> out;
    for (const auto& p : decide().proposals) {
      out.push_back(to_string(p.key) + " = " + to_string(p.value));
    }
    return out;
  }
};

using Lines = std::vector<std::string>;

}  // namespace

TEST_SUITE("policy/blkio") {
  TEST_CASE("blocks as disks: partition, volume group over two disks, volume of a pod") {
    Pod pod;
    pod.uid = "u1";
    CHECK(disks(block("vdb")) == "253:16");
    CHECK(disks(block("vdb1")) == "253:16");
    CHECK(disks(block("data", IoBlockKind::kVolumeGroup)) == "253:32 253:48");
    CHECK(disks(block("pvc-1", IoBlockKind::kPodVolume), &pod) == "253:32 253:48");
  }

  TEST_CASE("what a block does not name: one line that says so") {
    Pod pod;
    pod.uid = "u1";
    CHECK(disks(block("vdz")) == "error: device 'vdz': expected a disk or partition of this node");
    CHECK(disks(block("", IoBlockKind::kVolumeGroup)).starts_with("error: "));
    // A volume of another pod is none of this one.
    CHECK(disks(block("pvc-2", IoBlockKind::kPodVolume), &pod).starts_with("error: "));
    CHECK(disks(block("pvc-1", IoBlockKind::kPodVolume)).starts_with("error: "));
  }

  TEST_CASE("BLK-1: limits and weight of the BE root") {
    Bed bed;
    auto b = block("vdb");
    b.read_iops = 1000;
    b.write_bps = 10'485'760;
    b.weight_percent = 60;
    bed.config.blkio.be = {b};
    CHECK(bed.lines() == Lines{"/kubepods/besteffort io.max 253:16 = rbps=max wbps=10485760 "
                               "riops=1000 wiops=max",
                               "/kubepods/besteffort io.weight 253:16 = 60"});
  }

  TEST_CASE("BLK-2: no blocks, no wish: the executor gives back what was there") {
    Bed bed;
    CHECK(bed.lines().empty());
  }

  TEST_CASE("BLK-3: cost of the root, with the defaults beside what is said") {
    Bed bed;
    auto b = block("vdb");
    b.read_latency_us = 2000;
    bed.config.blkio.root = {b};
    CHECK(bed.lines() ==
          Lines{"/ io.cost.model 253:16 = ctrl=auto",
                "/ io.cost.qos 253:16 = enable=1 ctrl=user rpct=95 rlat=2000 wpct=95 wlat=3000"});
    bed.config.blkio.root[0].user_model = true;
    bed.config.blkio.root[0].model = {1, 2, 3, 4, 5, 6};
    CHECK(bed.lines()[0] ==
          "/ io.cost.model 253:16 = ctrl=user rbps=1 rseqiops=2 rrandiops=3 wbps=4 wseqiops=5 "
          "wrandiops=6");
  }

  TEST_CASE("one block that names nothing is one fault, and the scope goes on") {
    Bed bed;
    auto good = block("vdb");
    good.read_bps = 5'000'000;
    bed.config.blkio.be = {block("vdz"), good};
    const auto got = bed.decide();
    CHECK(got.proposals.size() == 1);
    CHECK(got.state.faults ==
          Lines{"BE root: device 'vdz': expected a disk or partition of this node"});
  }

  TEST_CASE("without a BE root: nothing to limit, and the block still names nothing") {
    Bed bed;
    bed.config.blkio.be = {block("vdz"), block("vdb")};
    bed.config.blkio.be[1].read_bps = 5'000'000;
    bed.has_root = false;
    const auto got = bed.decide();
    CHECK(got.proposals.empty());
    CHECK(got.state.settings == 0);
    CHECK(got.state.faults ==
          Lines{"BE root: device 'vdz': expected a disk or partition of this node"});
  }

  TEST_CASE("annotations: only where allowed, of running pods with a class, within bounds") {
    Bed bed;
    auto pod = be_pod("u1", 1000);
    auto b = block("vdb");
    b.read_bps = 1;
    b.weight_percent = 90;
    pod.io_blocks = {b};
    pod.qos = QosClass::kBe;
    bed.world.pods = {pod};
    CHECK(bed.lines().empty());
    bed.config.blkio.pod_annotations = true;
    bed.config.blkio.pod_max_weight = 50;
    CHECK(bed.lines() == Lines{"/kubepods/besteffort/podu1 io.max 253:16 = rbps=1048576 wbps=max "
                               "riops=max wiops=max",
                               "/kubepods/besteffort/podu1 io.weight 253:16 = 50"});
    CHECK(bed.decide().state.faults.size() == 2);
    bed.world.pods[0].phase = PodPhase::kPending;
    CHECK(bed.lines().empty());
    bed.world.pods[0].phase = PodPhase::kRunning;
    bed.world.pods[0].qos = QosClass::kNone;
    CHECK(bed.lines().empty());
  }

  TEST_CASE("two blocks on one disk: the strictest of each number, by the arbiter") {
    Bed bed;
    auto a = block("vdb");
    a.read_bps = 9'000'000;
    auto b = block("vdb1");
    b.read_bps = 4'000'000;
    bed.config.blkio.be = {a, b};
    CHECK(bed.decide().proposals.size() == 2);
  }

  TEST_CASE("disks not known yet: nothing is proposed, and it is said once") {
    Bed bed;
    bed.table = nullptr;
    bed.config.blkio.be = {block("vdb"), block("vdc")};
    const auto got = bed.decide();
    CHECK(got.proposals.empty());
    CHECK(got.state.faults.size() == 1);
  }
}
