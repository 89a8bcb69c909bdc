#include "sim/cgroup_tree.hpp"

#include <doctest/doctest.h>

using namespace koordlet;
using namespace koordlet::sim;
using std::chrono::microseconds;

namespace {

CgroupPath path(std::string_view text) { return CgroupPath::parse(text).value(); }

CgroupValue quota(std::int64_t us, std::int64_t period_us = 100'000) {
  return CpuMax{Limit{microseconds{us}}, microseconds{period_us}};
}

Errc refused(const Result<void>& r) {
  REQUIRE(r.has_error());
  return r.error().code;
}

const CgroupKey kParent{CgroupPath::parse("be").value(), CgroupFile::kCpuMax};
const CgroupKey kChild{CgroupPath::parse("be/pod").value(), CgroupFile::kCpuMax};

}  // namespace

TEST_SUITE("sim/cgroup_tree") {
  TEST_CASE("a quota under 1 ms, over 2^44 - 1 us, or a period out of range is EINVAL") {
    CgroupTree tree{CgroupVersion::kV2};
    tree.make(kChild.path);
    CHECK(refused(tree.write(kChild, quota(999))) == Errc::kInvalid);
    CHECK(refused(tree.write(kChild, quota(std::int64_t{1} << 44))) == Errc::kInvalid);
    CHECK(refused(tree.write(kChild, quota(5000, 999))) == Errc::kInvalid);
    CHECK(refused(tree.write(kChild, quota(5000, 1'000'001))) == Errc::kInvalid);
    CHECK(tree.write(kChild, quota(1000)));
    CHECK(tree.read(kChild).value() == quota(1000));
  }

  TEST_CASE("v1: a child's quota never exceeds its parent's, in both directions") {
    CgroupTree tree{CgroupVersion::kV1};
    tree.make(kChild.path);
    REQUIRE(tree.write(kParent, quota(200'000)));
    CHECK(refused(tree.write(kChild, quota(200'001))) == Errc::kInvalid);
    REQUIRE(tree.write(kChild, quota(200'000)));
    CHECK(refused(tree.write(kParent, quota(199'000))) == Errc::kInvalid);
    CHECK(tree.read(kParent).value() == quota(200'000));
  }

  TEST_CASE("v1: the nearest limited ancestor counts, through unlimited ones between") {
    CgroupTree tree{CgroupVersion::kV1};
    const CgroupKey deep{path("be/pod/container"), CgroupFile::kCpuMax};
    tree.make(deep.path);
    REQUIRE(tree.write(kParent, quota(100'000)));
    CHECK(refused(tree.write(deep, quota(100'001))) == Errc::kInvalid);
    REQUIRE(tree.write(deep, quota(80'000)));
    CHECK(refused(tree.write(kParent, quota(70'000))) == Errc::kInvalid);
    // A group whose name only begins alike is no descendant.
    tree.make(path("be-other"));
    REQUIRE(tree.write({path("be-other"), CgroupFile::kCpuMax}, quota(900'000)));
    CHECK(tree.write(kParent, quota(80'000)));
  }

  TEST_CASE("v2: a child may have more than its parent") {
    CgroupTree tree{CgroupVersion::kV2};
    tree.make(kChild.path);
    REQUIRE(tree.write(kParent, quota(100'000)));
    CHECK(tree.write(kChild, quota(200'000)));
  }

  TEST_CASE("cpuset: v1 keeps a child within its parent; emptying a populated one is refused") {
    CgroupTree tree{CgroupVersion::kV1, 8};
    tree.make(kChild.path);
    const CgroupKey parent{kParent.path, CgroupFile::kCpuset};
    const CgroupKey child{kChild.path, CgroupFile::kCpuset};
    CHECK(refused(tree.write(parent, CpuSet::range(0, 3))) == Errc::kBusy);
    REQUIRE(tree.write(child, CpuSet::range(0, 3)));
    REQUIRE(tree.write(parent, CpuSet::range(0, 3)));
    CHECK(refused(tree.write(child, CpuSet::range(0, 4))) == Errc::kDenied);
    CHECK(refused(tree.write(child, CpuSet::range(0, 8))) == Errc::kInvalid);
    CHECK(refused(tree.write(child, CpuSet{})) == Errc::kBusy);
  }

  TEST_CASE("idle: weights are EINVAL meanwhile, and come back as the default") {
    CgroupTree tree{CgroupVersion::kV2};
    tree.make(kChild.path);
    const CgroupKey weight{kChild.path, CgroupFile::kCpuWeight};
    const CgroupKey idle{kChild.path, CgroupFile::kCpuIdle};
    REQUIRE(tree.write(weight, Number{7}));
    REQUIRE(tree.write(idle, Number{1}));
    CHECK(tree.read(weight).value() == CgroupValue{Number{0}});
    CHECK(refused(tree.write(weight, Number{9})) == Errc::kInvalid);
    REQUIRE(tree.write(idle, Number{0}));
    CHECK(tree.read(weight).value() == CgroupValue{Number{100}});
  }

  TEST_CASE("memory bounds come back in whole pages; v1 has no memory.high") {
    CgroupTree tree{CgroupVersion::kV2};
    tree.make(kChild.path);
    const CgroupKey high{kChild.path, CgroupFile::kMemoryHigh};
    REQUIRE(tree.write(high, MemoryBound{Bytes{4097}}));
    CHECK(tree.read(high).value() == CgroupValue{MemoryBound{Bytes{4096}}});
    CgroupTree v1{CgroupVersion::kV1};
    v1.make(kChild.path);
    CHECK(refused(v1.write(high, MemoryBound{Bytes{4096}})) == Errc::kNotFound);
  }

  TEST_CASE("the root and what is not there cannot be written") {
    CgroupTree tree{CgroupVersion::kV1};
    CHECK(refused(tree.write({CgroupPath{}, CgroupFile::kCpuMax}, quota(5000))) == Errc::kInvalid);
    CHECK(refused(tree.write(kChild, quota(5000))) == Errc::kNotFound);
    CHECK(tree.read(kChild).error().code == Errc::kNotFound);
  }

  TEST_CASE("a group that is made again is another one") {
    CgroupTree tree{CgroupVersion::kV2};
    tree.make(kChild.path);
    const auto first = tree.inode(kChild).value();
    tree.remove(kParent.path);
    CHECK_FALSE(tree.has(kChild));
    tree.make(kChild.path);
    CHECK(tree.inode(kChild).value() != first);
    CHECK(tree.children(kParent.path).value() == std::vector<std::string>{"pod"});
  }
}
