#include "sim/cgroup_io.hpp"

#include <doctest/doctest.h>

#include "sim/cgroup_tree.hpp"

using namespace koordlet;
using namespace koordlet::sim;

namespace {

const CgroupPath kBe = CgroupPath::parse("kubepods/besteffort").value();

CgroupKey key(CgroupFile file, std::string disk = "8:16", CgroupPath path = kBe) {
  return {std::move(path), file, std::move(disk)};
}

IoMax reads(std::int64_t bytes, std::int64_t ops) {
  IoMax out;
  out.read_bytes = IoMax::Rate{bytes};
  out.read_ops = IoMax::Rate{ops};
  return out;
}

CgroupTree tree_with_disk(CgroupVersion version) {
  CgroupTree out{version};
  out.make(kBe);
  out.add_disk("8:16");
  return out;
}

Error refused(const Result<void>& r) {
  REQUIRE(r.has_error());
  return r.error();
}

}  // namespace

TEST_SUITE("sim/cgroup_io") {
  TEST_CASE("a disk without a line reads as unlimited, and a written one as it was written") {
    for (const auto version : {CgroupVersion::kV1, CgroupVersion::kV2}) {
      auto tree = tree_with_disk(version);
      CHECK(tree.read(key(CgroupFile::kIoMax)).value() == CgroupValue{IoMax{}});
      CHECK(tree.peek(key(CgroupFile::kIoMax)) == nullptr);
      REQUIRE(tree.write(key(CgroupFile::kIoMax), reads(1 << 20, 100)));
      CHECK(tree.read(key(CgroupFile::kIoMax)).value() == CgroupValue{reads(1 << 20, 100)});
      REQUIRE(tree.write(key(CgroupFile::kIoMax), IoMax{}));
      CHECK(tree.peek(key(CgroupFile::kIoMax)) == nullptr);
    }
  }
  TEST_CASE("lines of two disks stand beside each other") {
    auto tree = tree_with_disk(CgroupVersion::kV2);
    tree.add_disk("8:32");
    REQUIRE(tree.write(key(CgroupFile::kIoMax), reads(1 << 20, 100)));
    REQUIRE(tree.write(key(CgroupFile::kIoMax, "8:32"), reads(2 << 20, 200)));
    CHECK(tree.read(key(CgroupFile::kIoMax)).value() == CgroupValue{reads(1 << 20, 100)});
    CHECK(tree.read(key(CgroupFile::kIoMax, "8:32")).value() == CgroupValue{reads(2 << 20, 200)});
  }
  TEST_CASE("an unknown disk is ENODEV, what is no number EINVAL, a cgroup that is gone ENOENT") {
    for (const auto version : {CgroupVersion::kV1, CgroupVersion::kV2}) {
      auto tree = tree_with_disk(version);
      const auto unknown = refused(tree.write(key(CgroupFile::kIoMax, "8:17"), reads(4096, 10)));
      CHECK(unknown.code == Errc::kGone);
      CHECK(unknown.context.find("8:17") != std::string::npos);
      CHECK(unknown.context.find("No such device") != std::string::npos);
      CHECK(refused(tree.write(key(CgroupFile::kIoMax, "vdb"), reads(4096, 10))).code ==
            Errc::kInvalid);
      CHECK(refused(tree.write(key(CgroupFile::kIoMax, ""), reads(4096, 10))).code ==
            Errc::kInvalid);
      tree.remove(kBe);
      CHECK(refused(tree.write(key(CgroupFile::kIoMax), reads(4096, 10))).code == Errc::kNotFound);
    }
  }
  TEST_CASE("v2: rates of 0 are ERANGE, of 1 EINVAL; what was there stays") {
    auto tree = tree_with_disk(CgroupVersion::kV2);
    REQUIRE(tree.write(key(CgroupFile::kIoMax), reads(4096, 10)));
    const auto zero = refused(tree.write(key(CgroupFile::kIoMax), reads(0, 10)));
    CHECK(zero.code == Errc::kInvalid);
    CHECK(zero.context.find("out of range") != std::string::npos);
    CHECK(refused(tree.write(key(CgroupFile::kIoMax), reads(1, 10))).code == Errc::kInvalid);
    CHECK(refused(tree.write(key(CgroupFile::kIoMax), reads(4096, -5))).code == Errc::kInvalid);
    CHECK(tree.read(key(CgroupFile::kIoMax)).value() == CgroupValue{reads(4096, 10)});
  }
  TEST_CASE(
      "operations from 2^32 - 1 on are no limit on v2; v1 keeps 32 bits and takes 0 as none") {
    IoMax bytes_only;
    bytes_only.read_bytes = IoMax::Rate{4096};
    auto v2 = tree_with_disk(CgroupVersion::kV2);
    REQUIRE(v2.write(key(CgroupFile::kIoMax), reads(4096, 4'294'967'295)));
    CHECK(v2.read(key(CgroupFile::kIoMax)).value() == CgroupValue{bytes_only});
    auto v1 = tree_with_disk(CgroupVersion::kV1);
    REQUIRE(v1.write(key(CgroupFile::kIoMax), reads(4096, 4'294'967'306)));
    CHECK(v1.read(key(CgroupFile::kIoMax)).value() == CgroupValue{reads(4096, 10)});
    REQUIRE(v1.write(key(CgroupFile::kIoMax), reads(4096, 0)));
    CHECK(v1.read(key(CgroupFile::kIoMax)).value() == CgroupValue{bytes_only});
  }
  TEST_CASE("weights are 1 to 10000 and of v2 alone; 100 is no line") {
    auto tree = tree_with_disk(CgroupVersion::kV2);
    const auto weight = key(CgroupFile::kIoWeight);
    CHECK(tree.read(weight).value() == CgroupValue{Number{100}});
    CHECK(refused(tree.write(weight, Number{0})).code == Errc::kInvalid);
    CHECK(refused(tree.write(weight, Number{10'001})).code == Errc::kInvalid);
    CHECK(refused(tree.write(weight, IoMax{})).code == Errc::kInvalid);
    CHECK(tree.write(weight, Number{10'000}));
    CHECK_FALSE(tree_with_disk(CgroupVersion::kV1).has(weight));
  }
  TEST_CASE("the cost model is a file of the root alone, limits are none of it") {
    auto tree = tree_with_disk(CgroupVersion::kV2);
    const auto qos = key(CgroupFile::kIoCostQos, "8:16", {});
    CHECK(tree.has(qos));
    CHECK_FALSE(tree.has(key(CgroupFile::kIoCostQos)));
    CHECK_FALSE(tree.has(key(CgroupFile::kIoMax, "8:16", {})));
    CHECK(tree.read(qos).value() == CgroupValue{Line{"enable=0"}});
    CHECK(tree.write(qos, Line{"enable=1 ctrl=user rpct=95 rlat=3000 wpct=95.00 wlat=3000"}));
    for (const char* bad : {"",
                            "enable=2",
                            "ctrl=mine",
                            "rpct=101",
                            "rlat=",
                            "rlat=x",
                            "speed=1",
                            "enable",
                            "enable=1  ctrl=auto"}) {
      CAPTURE(bad);
      CHECK(refused(tree.write(qos, Line{bad})).code == Errc::kInvalid);
    }
    const auto model = key(CgroupFile::kIoCostModel, "8:16", {});
    CHECK(tree.write(model, Line{"ctrl=user rbps=1 rseqiops=2 rrandiops=3 wbps=4"}));
    CHECK(refused(tree.write(model, Line{"ctrl=user model=cubic"})).code == Errc::kInvalid);
  }
  TEST_CASE("without a disk there are no io files") {
    CgroupTree tree{CgroupVersion::kV2};
    tree.make(kBe);
    CHECK_FALSE(tree.has(key(CgroupFile::kIoMax)));
    CHECK(refused(tree.write(key(CgroupFile::kIoMax), reads(4096, 10))).code == Errc::kNotFound);
  }
}
