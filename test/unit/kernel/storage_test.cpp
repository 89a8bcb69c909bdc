#include "kernel/storage.hpp"

#include <filesystem>
#include <set>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "support/fake_tree.hpp"

using namespace koordlet;
using namespace koordlet::kernel;
using koordlet::test::FakeTree;

namespace {

/// One disk with two partitions, a volume over both, as sysfs links them.
struct Machine {
  FakeTree tree{
      {"sys/devices/pci0/nvme/nvme0n1/dev", "259:0\n"},
      {"sys/devices/pci0/nvme/nvme0n1/size", "2048\n"},
      {"sys/devices/pci0/nvme/nvme0n1/queue/rotational", "0\n"},
      {"sys/devices/pci0/nvme/nvme0n1/nvme0n1p1/dev", "259:1\n"},
      {"sys/devices/pci0/nvme/nvme0n1/nvme0n1p1/size", "1000\n"},
      {"sys/devices/pci0/nvme/nvme0n1/nvme0n1p1/partition", "1\n"},
      {"sys/devices/pci0/nvme/nvme0n1/nvme0n1p2/dev", "259:2\n"},
      {"sys/devices/pci0/nvme/nvme0n1/nvme0n1p2/size", "1040\n"},
      {"sys/devices/pci0/nvme/nvme0n1/nvme0n1p2/partition", "2\n"},
      {"sys/devices/virtual/block/dm-0/dev", "253:0\n"},
      {"sys/devices/virtual/block/dm-0/size", "1032\n"},
      {"sys/devices/virtual/block/dm-0/dm/name", "my--vg-data\n"},
      {"sys/devices/virtual/block/dm-0/slaves/nvme0n1p2/dev", "259:2\n"},
      {"sys/devices/virtual/block/bad0/dev", "nonsense\n"},
      {"sys/class/block/keep", ""},
      {"proc/self/mountinfo",
       "36 35 259:1 / / rw,noatime - ext4 /dev/nvme0n1p1 rw\n"
       "37 35 253:0 / /var/my\\040data rw shared:1 master:2 - xfs /dev/mapper/my--vg-data rw\n"
       "38 35 0:50 / /nfs rw shared:3 - nfs server:/x rw\n"}};
  Machine() {
    link("nvme0n1", "devices/pci0/nvme/nvme0n1");
    link("nvme0n1p1", "devices/pci0/nvme/nvme0n1/nvme0n1p1");
    link("nvme0n1p2", "devices/pci0/nvme/nvme0n1/nvme0n1p2");
    link("dm-0", "devices/virtual/block/dm-0");
    link("bad0", "devices/virtual/block/bad0");
    link("vanished", "devices/gone");
  }
  void link(const std::string& name, const std::string& target) {
    std::filesystem::create_symlink("../../" + target, tree.path("sys/class/block/" + name));
  }
  HostRoots roots() const {
    HostRoots out;
    out.sys = tree.path("sys");
    out.proc = tree.path("proc");
    return out;
  }
};

TEST_SUITE("storage") {
  TEST_CASE("pitfall 46: any number of optional fields before the dash") {
    const auto plain = parse_mountinfo("36 35 98:0 / /m rw - ext4 /dev/a rw\n");
    const auto shared = parse_mountinfo("36 35 98:0 / /m rw shared:1 master:2 - ext4 /dev/a rw\n");
    REQUIRE(plain.has_value());
    REQUIRE(shared.has_value());
    for (const auto* mounts : {&*plain, &*shared}) {
      REQUIRE(mounts->size() == 1);
      CHECK(mounts->front().device == DeviceNumber{98, 0});
      CHECK(mounts->front().mount_point == "/m");
      CHECK(mounts->front().fs_type == "ext4");
      CHECK(mounts->front().source == "/dev/a");
    }
  }
  TEST_CASE("a blank in a path is an octal escape") {
    CHECK(parse_mountinfo("1 2 8:1 / /a\\040b\\134 rw - ext4 x rw\n").value().front().mount_point ==
          "/a b\\");
  }
  TEST_CASE("damaged mountinfo is refused") {
    for (const char* text : {"36 35\n",
                             "36 35 98:0 / /m rw\n",
                             "36 35 98:0 / /m rw -\n",
                             "36 35 98:0 / /m rw - ext4\n",
                             "36 35 98:0 / /m rw - ext4 /dev/a\n",
                             "36 35 98:0 / /m rw - ext4 /dev/a rw\n37 35 98:1 / /n rw - ext",
                             "36 35 98:0 / /m rw - ext4 /dev/a rw",
                             "\n",
                             "36 35 x / /m rw - ext4 a rw\n"}) {
      CAPTURE(text);
      CHECK(parse_mountinfo(text).error().code == Errc::kParse);
    }
  }
  TEST_CASE("partitions know their disk by the hierarchy, volumes by their slaves") {
    const Machine m;
    const auto info = read_storage(m.roots());
    REQUIRE(info.has_value());
    std::vector<std::string> names;
    for (const auto& d : info->devices) names.push_back(d.name);
    // Pitfall 59: what has no good number, or is gone, is left out and stops nothing.
    CHECK(names == std::vector<std::string>{"dm-0", "nvme0n1", "nvme0n1p1", "nvme0n1p2"});
    CHECK(info->devices[1].size_bytes == 2048 * 512);
    CHECK(info->devices[1].rotational == false);
    CHECK(info->devices[2].disk == "nvme0n1");
    CHECK(info->devices[0].dm_name == "my--vg-data");
    CHECK(info->disks_of("dm-0") == std::vector<std::string>{"nvme0n1"});
    CHECK(info->disks_of("nvme0n1p1") == std::vector<std::string>{"nvme0n1"});
    CHECK(info->disks_of("nvme0n1") == std::vector<std::string>{"nvme0n1"});
    CHECK(info->disks_of("sdz").empty());
    REQUIRE(info->mounts.size() == 2);  // NFS stands on no block device
    CHECK(info->mounts[1].mount_point == "/var/my data");
  }
  TEST_CASE("an empty source is a source, not the options") {
    const auto mounts = parse_mountinfo("30 25 0:27 / /x rw - tmpfs  rw,size=4k\n").value();
    REQUIRE(mounts.size() == 1);
    CHECK(mounts[0].fs_type == "tmpfs");
    CHECK(mounts[0].source.empty());
  }
  TEST_CASE("row 47: a plain file among the links is no device") {
    const Machine m;
    m.tree.write("sys/class/block/bonding_masters", "bond0\n");
    CHECK(read_block_devices(m.roots()).value().size() == 4);
  }
  TEST_CASE("row 59: of three devices the second fails: two are read") {
    const Machine m;
    m.tree.write("sys/devices/pci0/nvme/nvme0n1/nvme0n1p1/size", "many\n");
    const auto devices = read_block_devices(m.roots()).value();
    REQUIRE(devices.size() == 3);
    CHECK(devices[0].name == "dm-0");
    CHECK(devices[1].name == "nvme0n1");
    CHECK(devices[2].name == "nvme0n1p2");
  }
  TEST_CASE("a device whose size vanished is left out: no device of size 0") {
    const Machine m;
    m.tree.remove("sys/devices/virtual/block/dm-0/size");
    CHECK(read_block_devices(m.roots()).value().size() == 3);
  }
  TEST_CASE("a damaged kind of disk is unknown, not solid state") {
    const Machine m;
    m.tree.write("sys/devices/pci0/nvme/nvme0n1/queue/rotational", "x\n");
    CHECK_FALSE(read_block_devices(m.roots()).value()[1].rotational.has_value());
  }
  TEST_CASE("row 163: ten mounts of one device are ten mounts and one device, NFS is not asked") {
    const Machine m;
    std::string text;
    for (int i = 0; i < 10; ++i) {
      text += fmt::format("{} 35 259:1 / /m{} rw - ext4 /dev/nvme0n1p1 rw\n", 40 + i, i);
      text += fmt::format("{} 35 0:50 / /nfs{} rw - nfs server:/x rw\n", 60 + i, i);
    }
    m.tree.write("proc/self/mountinfo", text);
    const auto info = read_storage(m.roots()).value();
    CHECK(info.mounts.size() == 10);
    std::set<DeviceNumber> devices;
    for (const auto& mount : info.mounts) devices.insert(mount.device);
    CHECK(devices == std::set<DeviceNumber>{{259, 1}});
  }
  TEST_CASE("a file system with an anonymous number stands on its source") {
    const Machine m;
    m.tree.write("proc/self/mountinfo",
                 "40 35 0:33 /@ / rw - btrfs /dev/nvme0n1p2 rw\n"
                 "41 35 0:34 / /d rw - btrfs /dev/mapper/my--vg-data rw\n"
                 "42 35 0:35 / /t rw - tmpfs tmpfs rw\n");
    const auto info = read_storage(m.roots()).value();
    REQUIRE(info.mounts.size() == 2);
    CHECK(info.mounts[0].device == DeviceNumber{259, 2});
    CHECK(info.mounts[1].device == DeviceNumber{253, 0});
  }
  TEST_CASE("slaves that stand on each other end") {
    StorageInfo info;
    BlockDevice a, b;
    a.name = "dm-0";
    a.slaves = {"dm-1"};
    b.name = "dm-1";
    b.slaves = {"dm-0", "gone"};
    info.devices = {a, b};
    CHECK(info.disks_of("dm-0").empty());
  }
  TEST_CASE("names of logical volumes") {
    CHECK(split_dm_name("vg-lv").value() == std::pair<std::string, std::string>{"vg", "lv"});
    CHECK(split_dm_name("my--vg-a--b").value() ==
          std::pair<std::string, std::string>{"my-vg", "a-b"});
    for (const char* name : {"plain", "a-b-c", "", "-lv", "vg-", "a--b"}) {
      CAPTURE(name);
      CHECK_FALSE(split_dm_name(name));
    }
  }
  TEST_CASE("a kernel without block devices is kNotFound") {
    const FakeTree t{{"x", ""}};
    HostRoots roots;
    roots.sys = t.path("sys");
    CHECK(read_storage(roots).error().code == Errc::kNotFound);
  }
}

}  // namespace
