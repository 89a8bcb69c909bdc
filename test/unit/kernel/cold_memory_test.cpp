#include "kernel/cold_memory.hpp"

#include <string>

#include <doctest/doctest.h>

#include "support/fake_tree.hpp"

using namespace koordlet;
using namespace koordlet::kernel;
using koordlet::test::FakeTree;

namespace {

/// The classes that a kidled kernel prints; `cfei` and its like count.
std::string stats(const std::string& cfei) {
  return "# version: 1.0\n# page_scans: 24\n# slab_scans: 0\n# scan_period_in_seconds: 5\n"
         "# use_hierarchy: 1\n# buckets: 1,2,5,15,30,60,120,240\n#\n"
         "  csei 1 1 1 1 1 1 1 1\n  dsei 1 1 1 1 1 1 1 1\n  cfei " +
         cfei +
         "\n  dfei 0 0 0 0 0 0 0 0\n  csui 1 1 1 1 1 1 1 1\n  cfui 0 0 0 0 0 0 0 0\n"
         "  dfui 0 0 0 0 0 0 0 0\n  slab 9 9 9 9 9 9 9 9\n";
}

TEST_SUITE("cold_memory") {
  TEST_CASE("T11: columns from index 5 on of the file rows: 60 + 70 + 80") {
    CHECK(parse_idle_page_stats(stats("10 20 30 40 50 60 70 80")).value() == Bytes{210});
    CHECK(parse_idle_page_stats(stats("10 20 30 40 50 60 70 80"), 7).value() == Bytes{80});
  }
  TEST_CASE("a file of another shape is refused") {
    CHECK(parse_idle_page_stats("").error().code == Errc::kParse);
    CHECK(parse_idle_page_stats("cfei 1 2 3 4 5 6 7 8\n").error().code == Errc::kParse);
    CHECK(parse_idle_page_stats(stats("1 2 3")).error().code == Errc::kParse);
    CHECK(parse_idle_page_stats(stats("1 2 3 4 5 6 7 x")).error().code == Errc::kParse);
    CHECK(parse_idle_page_stats(stats("1 2 3 4 5 6 7 -8")).error().code == Errc::kParse);
  }
  TEST_CASE("read of a v1 cgroup where kidled is there; elsewhere kNotSupported") {
    FakeTree t{{"cg/memory/a/memory.idle_page_stats", stats("0 0 0 0 0 1 1 1")},
               {"sys/kernel/mm/kidled/scan_period_in_seconds", "5\n"},
               {"sys/kernel/mm/kidled/use_hierarchy", "1\n"}};
    HostRoots roots;
    roots.cgroup = t.path("cg");
    roots.sys = t.path("sys");
    const auto a = CgroupPath::parse("a").value();
    CHECK(has_kidled(roots));
    CHECK(read_cold_memory(roots, CgroupVersion::kV1, a).value() == Bytes{3});
    CHECK(read_cold_memory(roots, CgroupVersion::kV2, a).error().code == Errc::kNotSupported);
    CHECK(
        read_cold_memory(roots, CgroupVersion::kV1, CgroupPath::parse("b").value()).error().code ==
        Errc::kNotFound);
    roots.sys = t.path("nowhere");
    CHECK_FALSE(has_kidled(roots));
    CHECK(read_cold_memory(roots, CgroupVersion::kV1, a).error().code == Errc::kNotSupported);
  }
}

}  // namespace
