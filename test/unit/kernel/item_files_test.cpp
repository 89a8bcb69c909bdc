#include <doctest/doctest.h>

#include "kernel/cgroup_fs.hpp"
#include "kernel/item_writes.hpp"
#include "support/fake_tree.hpp"

/// Files of many settings and files outside the cgroup tree, through the same door as cpu.max.
using namespace koordlet;
using namespace koordlet::kernel;
using koordlet::test::FakeTree;

namespace {

CgroupPath at(std::string_view text) { return CgroupPath::parse(text).value(); }
HostRoots roots_of(const FakeTree& tree) {
  return {tree.path("cg"), tree.path("proc"), tree.path("sys"), tree.path("dev")};
}
std::string shown(CgroupFs& fs, const CgroupKey& key) {
  const auto value = fs.read(key);
  return value ? to_string(*value) : "error: " + value.error().context;
}
Errc refusal(CgroupFs& fs, const CgroupKey& key) {
  const auto value = fs.read(key);
  return value ? Errc::kIo : value.error().code;
}

const IoMax kSome{
    IoMax::Rate{1'048'576}, IoMax::Rate::unlimited(), IoMax::Rate::unlimited(), IoMax::Rate{120}};

}  // namespace

TEST_SUITE("item files") {
  TEST_CASE("a plain file keeps its other lines, domains and features") {
    const CgroupKey weight{{}, CgroupFile::kIoWeight, "8:16"};
    CHECK(with_item("default 50\n8:16 10\n8:0 7\n", weight, "8:16 60") ==
          "default 50\n8:16 60\n8:0 7\n");
    CHECK(with_item("", weight, "8:16 60") == "8:16 60\n");
    const CgroupKey l3{{}, CgroupFile::kResctrlL3, "1"};
    CHECK(with_item("    MB:0=100;1=100\n    L3:0=fff;1=fff\n", l3, "L3:1=f\n") ==
          "    MB:0=100;1=100\n    L3:0=fff;1=f\n");
    CHECK(with_item("MB:0=100\n", l3, "L3:1=f\n") == "MB:0=100\nL3:1=f\n");
    const CgroupKey feature{{}, CgroupFile::kSchedFeature, "B"};
    CHECK(with_item("A NO_B NO_BC\n", feature, "B") == "A B NO_BC\n");
    CHECK(with_item("A B\n", feature, "NO_B") == "A NO_B\n");
  }

  TEST_CASE("v2 io.max: one device is written, the other stays") {
    const FakeTree tree{{"cg/a/io.max", "8:0 rbps=max wbps=7 riops=max wiops=max\n"}};
    CgroupFs fs{roots_of(tree), CgroupVersion::kV2};
    const CgroupKey key{at("a"), CgroupFile::kIoMax, "8:16"};
    CHECK(shown(fs, key) == "rbps=max wbps=max riops=max wiops=max");
    REQUIRE(fs.write(key, kSome));
    CHECK(shown(fs, key) == "rbps=1048576 wbps=max riops=max wiops=120");
    CHECK(tree.read("cg/a/io.max") ==
          "8:0 rbps=max wbps=7 riops=max wiops=max\n"
          "8:16 rbps=1048576 wbps=max riops=max wiops=120\n");
  }

  TEST_CASE("pitfall 116: v1 throttle files take 'device number', only those that differ") {
    const FakeTree tree{{"cg/cpu/a/cpu.shares", "2\n"},
                        {"cg/blkio/a/blkio.throttle.read_bps_device", ""},
                        {"cg/blkio/a/blkio.throttle.write_bps_device", "253:0 5\n"},
                        {"cg/blkio/a/blkio.throttle.read_iops_device", ""},
                        {"cg/blkio/a/blkio.throttle.write_iops_device", ""}};
    CgroupFs fs{roots_of(tree), CgroupVersion::kV1};
    const CgroupKey key{at("a"), CgroupFile::kIoMax, "253:16"};
    REQUIRE(fs.write(key, kSome));
    CHECK(tree.read("cg/blkio/a/blkio.throttle.read_bps_device") == "253:16 1048576\n");
    CHECK(tree.read("cg/blkio/a/blkio.throttle.write_bps_device") == "253:0 5\n");
    CHECK(tree.read("cg/blkio/a/blkio.throttle.write_iops_device") == "253:16 120\n");
    REQUIRE(fs.write(key, IoMax{}));
    CHECK(tree.read("cg/blkio/a/blkio.throttle.read_bps_device") == "253:16 0\n");
    CHECK(shown(fs, key) == "rbps=max wbps=max riops=max wiops=max");
    CHECK(refusal(fs, {at("a"), CgroupFile::kIoWeight, "253:16"}) == Errc::kNotSupported);
    CHECK(refusal(fs, {at("b"), CgroupFile::kIoMax, "253:16"}) == Errc::kNotFound);
  }

  TEST_CASE("resctrl: domains of the group's schemata, and what the machine lacks") {
    const FakeTree tree{{"sys/fs/resctrl/info/L3/cbm_mask", "7ff\n"},
                        {"sys/fs/resctrl/schemata", "    L3:0=7ff;8=7ff\n"},
                        {"sys/fs/resctrl/BE/schemata", "    L3:0=7ff;8=7ff\n    MB:0=100;8=100\n"}};
    CgroupFs fs{roots_of(tree), CgroupVersion::kV2};
    const CgroupKey l3{at("BE"), CgroupFile::kResctrlL3, "8"};
    REQUIRE(fs.write(l3, Number{0xf}));
    REQUIRE(fs.write({at("BE"), CgroupFile::kResctrlMb, "0"}, Number{30}));
    CHECK(tree.read("sys/fs/resctrl/BE/schemata") == "    L3:0=7ff;8=f\n    MB:0=30;8=100\n");
    CHECK(shown(fs, l3) == "15");
    CHECK(refusal(fs, {at("BE"), CgroupFile::kResctrlL3, "1"}) == Errc::kNotSupported);
    CHECK(refusal(fs, {at("BE"), CgroupFile::kResctrlL3Code, "0"}) == Errc::kNotSupported);
    CHECK(refusal(fs, {at("LS"), CgroupFile::kResctrlL3, "0"}) == Errc::kNotFound);
    const auto inode = fs.inode(l3);
    REQUIRE(inode);
    CHECK(*inode != fs.inode({{}, CgroupFile::kResctrlL3, "8"}).value());
    CHECK(fs.file(l3) == tree.path("sys/fs/resctrl/BE/schemata"));
    const FakeTree bare{{"sys/fs/x", ""}};
    CgroupFs none{roots_of(bare), CgroupVersion::kV2};
    CHECK(refusal(none, l3) == Errc::kNotSupported);
  }

  TEST_CASE("machine files: plain numbers, ranges, one identity for ever") {
    const FakeTree tree{{"proc/sys/vm/min_free_kbytes", "67584\n"},
                        {"proc/sys/vm/watermark_scale_factor", "10\n"},
                        {"sys/kernel/debug/sched_features", "A NO_B\n"}};
    CgroupFs fs{roots_of(tree), CgroupVersion::kV2};
    const CgroupKey free{{}, CgroupFile::kMinFreeKbytes};
    REQUIRE(fs.write(free, Number{100'000}));
    CHECK(tree.read("proc/sys/vm/min_free_kbytes") == "100000");
    CHECK(shown(fs, free) == "100000");
    const auto refused = fs.write(free, Number{10'239});
    REQUIRE(refused.has_error());
    CHECK(refused.error().code == Errc::kRange);
    CHECK(fs.inode(free).value() == 1);
    CHECK(refusal(fs, {{}, CgroupFile::kMemcgReapBackground}) == Errc::kNotSupported);
    const CgroupKey feature{{}, CgroupFile::kSchedFeature, "B"};
    REQUIRE(fs.write(feature, Number{1}));
    CHECK(tree.read("sys/kernel/debug/sched_features") == "A B\n");
    CHECK(refusal(fs, {{}, CgroupFile::kSchedFeature, "C"}) == Errc::kNotSupported);
  }
}
