#include <doctest/doctest.h>

#include "kernel/cgroup_fs.hpp"
#include "modules/qos_manager/qos_manager.hpp"
#include "modules/qos_manager/storage_table.hpp"
#include "modules/resource_executor/resource_executor.hpp"
#include "support/async.hpp"
#include "support/fake_tree.hpp"
#include "support/manual_clock.hpp"
#include "unit/policy/world.hpp"

/// The levers from NodeSLO to the files of a recorded tree and back.
using namespace koordlet;
using namespace koordlet::test;

namespace {

kernel::HostRoots roots_of(const FakeTree& tree) {
  return {tree.path("cg"), tree.path("proc"), tree.path("sys"), tree.path("dev")};
}

struct Rig {
  explicit Rig(const FakeTree& tree, CgroupVersion version) : fs{roots_of(tree), version} {
    world.version = version;
    auto table = std::make_shared<StorageTable>();
    table->devices = {{"vdb", "253:0", {"253:0"}, "", ""}};
    storage = std::move(table);
  }
  /// One tick: decide, write. Outcomes that are not "unchanged" as text.
  std::vector<std::string> tick() {
    world.sample(100, 0);
    auto snap = world.snap();
    snap.storage = storage;
    snap.resctrl = resctrl;
    std::vector<std::string> out;
    for (const auto& o : run(io, executor.apply(manager.step(snap), clock.now()))) {
      if (o.kind == OutcomeKind::kUnchanged || o.key.file == CgroupFile::kCpuMax) continue;
      out.push_back(to_string(o.key) + ": " + std::string{to_string(o.kind)});
    }
    return out;
  }

  boost::asio::io_context io;
  ManualClock clock;
  World world{4000};
  std::shared_ptr<const StorageTable> storage;
  std::shared_ptr<const ResctrlState> resctrl;
  kernel::CgroupFs fs;
  ResourceExecutor executor{{}, fs, nullptr, nullptr, clock, "boot-1"};
  QosManager manager{[] {
    policy::QosConfig config;
    config.identity.enable = false;
    config.pressure.enable = false;
    return config;
  }()};
};

IoBlock block(std::int64_t read_bps) {
  IoBlock out;
  out.name = "vdb";
  out.read_bps = read_bps;
  return out;
}

}  // namespace

TEST_SUITE("qos_manager/levers") {
  TEST_CASE("BLK-2: blocks that are taken away leave the device as it was, v1") {
    const std::string be = "cg/blkio/kubepods/besteffort/blkio.";
    const FakeTree tree{{"cg/cpu/kubepods/besteffort/cpu.shares", "2\n"},
                        {be + "throttle.read_bps_device", ""},
                        {be + "throttle.write_bps_device", "8:0 7\n"},
                        {be + "throttle.read_iops_device", ""},
                        {be + "throttle.write_iops_device", ""},
                        {be + "cost.weight", ""}};
    Rig rig{tree, CgroupVersion::kV1};
    rig.world.slo.emplace();
    rig.world.slo->blkio.be.enable = true;
    rig.world.slo->blkio.be.blocks = {block(5'000'000)};
    rig.world.slo->blkio.be.blocks[0].weight_percent = 60;
    rig.tick();
    CHECK(tree.read(be + "throttle.read_bps_device") == "253:0 5000000\n");
    CHECK(tree.read(be + "cost.weight") == "253:0 60\n");
    CHECK(rig.tick().empty());
    rig.world.slo->blkio.be.blocks.clear();
    rig.tick();
    CHECK(tree.read(be + "throttle.read_bps_device") == "253:0 0\n");
    CHECK(tree.read(be + "cost.weight") == "253:0 100\n");
    CHECK(tree.read(be + "throttle.write_bps_device") == "8:0 7\n");
  }

  TEST_CASE("io.max and the cost model of a v2 tree, written, stable, restored") {
    const FakeTree tree{{"cg/kubepods/besteffort/io.max", ""},
                        {"cg/io.cost.qos", "253:0 enable=0 ctrl=auto rpct=0.00 rlat=0\n"},
                        {"cg/io.cost.model", "253:0 ctrl=auto model=linear rbps=1\n"}};
    Rig rig{tree, CgroupVersion::kV2};
    rig.world.slo.emplace();
    rig.world.slo->blkio.be = {true, {block(5'000'000)}};
    rig.world.slo->blkio.root = {true, {block(0)}};
    CHECK(rig.tick().size() == 2);  // the model is the kernel's own already
    CHECK(tree.read("cg/io.cost.qos") ==
          "253:0 enable=1 ctrl=user rpct=95 rlat=3000 wpct=95 wlat=3000\n");
    // As the kernel shows it: no foreign write, nothing to do.
    tree.write("cg/io.cost.qos",
               "253:0 enable=1 ctrl=user rpct=95.00 rlat=3000 wpct=95.00 wlat=3000 min=1.00 "
               "max=10000.00\n");
    CHECK(rig.tick().empty());
    rig.executor.restore_all();
    CHECK(tree.read("cg/io.cost.qos") == "253:0 enable=0\n");
    CHECK(tree.read("cg/kubepods/besteffort/io.max") ==
          "253:0 rbps=max wbps=max riops=max wiops=max\n");
  }

  TEST_CASE("machine files: a file that the kernel lacks is unsupported, the others are written") {
    const FakeTree tree{{"cg/kubepods/besteffort/cpu.weight", "1\n"},
                        {"proc/sys/vm/watermark_scale_factor", "10\n"},
                        {"sys/kernel/debug/sched_features", "A NO_B\n"}};
    Rig rig{tree, CgroupVersion::kV2};
    rig.world.slo.emplace();
    rig.world.slo->system.watermark_scale_factor = 150;
    rig.world.slo->system.memcg_reap_background = true;
    rig.world.slo->system.sched_features = {{"A", true}, {"B", true}};
    CHECK(rig.tick() == std::vector<std::string>{"/ vm.watermark_scale_factor: written",
                                                 "/ memcg_reaper.reap_background: unsupported",
                                                 "/ sched_features B: written"});
    CHECK(tree.read("proc/sys/vm/watermark_scale_factor") == "150");
    CHECK(tree.read("sys/kernel/debug/sched_features") == "A B\n");
    CHECK(rig.executor.held().size() == 3);
    rig.world.slo->system = {};
    rig.tick();
    CHECK(tree.read("proc/sys/vm/watermark_scale_factor") == "10");
    CHECK(tree.read("sys/kernel/debug/sched_features") == "A NO_B\n");
  }

  TEST_CASE("schemata of the BE group: only its own domains are written, and given back") {
    const std::string group = "sys/fs/resctrl/BE/schemata";
    const FakeTree tree{{"cg/kubepods/besteffort/cpu.weight", "1\n"},
                        {"sys/fs/resctrl/info/L3/cbm_mask", "7ff\n"},
                        {group, "    MB:0=100;8=100\n    L3:0=7ff;8=7ff\n"}};
    Rig rig{tree, CgroupVersion::kV2};
    ResctrlState machine;
    machine.l3_ids = machine.mb_ids = {0, 8};
    machine.cbm_mask = 0x7ff;
    machine.groups = {"BE"};
    rig.resctrl = std::make_shared<const ResctrlState>(machine);
    rig.world.slo.emplace();
    rig.world.slo->resctrl.be.enable = true;
    rig.world.slo->resctrl.be.mba_percent = 35;
    CHECK(rig.tick().size() == 4);
    CHECK(tree.read(group) == "    MB:0=40;8=40\n    L3:0=f;8=f\n");
    CHECK(rig.tick().empty());
    rig.world.slo->resctrl.be.enable = false;
    rig.tick();
    CHECK(tree.read(group) == "    MB:0=100;8=100\n    L3:0=7ff;8=7ff\n");
    // The group went away with its tasks: nothing to give back, no fault.
    rig.world.slo->resctrl.be.enable = true;
    rig.tick();
    tree.remove("sys/fs/resctrl/BE");
    rig.world.slo->resctrl.be.enable = false;
    for (const auto& line : rig.tick()) CHECK(line.ends_with("gone"));
  }

  TEST_CASE("storage as the plugin needs it: disks below a volume, volume groups, pod mounts") {
    kernel::StorageInfo info;
    kernel::BlockDevice disk, part, volume;
    disk.name = "sda";
    disk.device = {8, 0};
    part.name = "sda1";
    part.device = {8, 1};
    part.disk = "sda";
    volume.name = "dm-0";
    volume.device = {252, 0};
    volume.dm_name = "my--vg-lv";
    volume.slaves = {"sda1"};
    info.devices = {volume, disk, part};
    info.mounts = {{{252, 0}, "/var/lib/kubelet/pods/u/volumes/x/y", "ext4", "/dev/dm-0"},
                   {{8, 1}, "/boot", "ext4", "/dev/sda1"}};
    const auto table = storage_table(info);
    REQUIRE(table.devices.size() == 3);
    CHECK(table.devices[0] == StorageTable::Device{"dm-0", "252:0", {"8:0"}, "my--vg-lv", "my-vg"});
    CHECK(table.devices[2].disks == std::vector<std::string>{"8:0"});
    REQUIRE(table.mounts.size() == 1);
    CHECK(table.mounts[0].number == "252:0");
  }
}
