#include "kernel/memory_reclaim.hpp"

#include <doctest/doctest.h>

#include "support/fake_tree.hpp"

using namespace koordlet;
using namespace koordlet::kernel;
using namespace koordlet::test;

namespace {

const CgroupPath kBe = CgroupPath::parse("kubepods/besteffort").value();

HostRoots roots(const FakeTree& tree) {
  HostRoots out;
  out.cgroup = tree.root();
  return out;
}

}  // namespace

TEST_SUITE("kernel/memory_reclaim") {
  TEST_CASE("v2: one write of the bytes") {
    const FakeTree tree{{"kubepods/besteffort/memory.reclaim", ""}};
    CHECK(has_memory_reclaim(roots(tree), CgroupVersion::kV2, kBe));
    const auto done = reclaim_memory(roots(tree), CgroupVersion::kV2, kBe, Bytes{67'108'864});
    REQUIRE(done.has_value());
    CHECK(*done == Reclaimed::kAll);
    CHECK(tree.read("kubepods/besteffort/memory.reclaim") == "67108864");
  }

  TEST_CASE("a kernel without the file, and v1, are unsupported") {
    const FakeTree tree{{"kubepods/besteffort/memory.high", "max"}};
    CHECK_FALSE(has_memory_reclaim(roots(tree), CgroupVersion::kV2, kBe));
    const auto old = reclaim_memory(roots(tree), CgroupVersion::kV2, kBe, Bytes{4096});
    REQUIRE(old.has_error());
    CHECK(old.error().code == Errc::kNotSupported);
    CHECK_FALSE(has_memory_reclaim(roots(tree), CgroupVersion::kV1, kBe));
    const auto v1 = reclaim_memory(roots(tree), CgroupVersion::kV1, kBe, Bytes{4096});
    REQUIRE(v1.has_error());
    CHECK(v1.error().code == Errc::kNotSupported);
  }

  TEST_CASE("a cgroup that went away is not found; nothing to reclaim is out of range") {
    const FakeTree tree{{"kubepods/cgroup.procs", ""}};
    const auto gone = reclaim_memory(roots(tree), CgroupVersion::kV2, kBe, Bytes{4096});
    REQUIRE(gone.has_error());
    CHECK(gone.error().code == Errc::kNotFound);
    const auto none = reclaim_memory(roots(tree), CgroupVersion::kV2, kBe, Bytes{0});
    REQUIRE(none.has_error());
    CHECK(none.error().code == Errc::kRange);
  }
}
