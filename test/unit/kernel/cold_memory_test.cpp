#include "kernel/cold_memory.hpp"

#include <algorithm>
#include <string>

#include <doctest/doctest.h>

#include "support/fake_tree.hpp"

using namespace koordlet;
using namespace koordlet::kernel;
using koordlet::test::FakeTree;

namespace {

constexpr const char* kZeros = " 0 0 0 0 0 0 0 0\n";

/// The 31 lines of a kidled kernel: 14 of heading, 16 classes of which four count, and slab.
std::string stats(const std::string& cfei, const std::string& left_out = "") {
  std::string out =
      "# version: 1.0\n# page_scans: 24\n# slab_scans: 0\n# scan_period_in_seconds: 5\n"
      "# use_hierarchy: 1\n# buckets: 1,2,5,15,30,60,120,240\n#\n"
      "#   _-----=> clean/dirty\n#  / _----=> swap/file\n# | / _---=> evict/unevict\n"
      "# || / _--=> inactive/active\n# ||| / _-=> slab\n# |||| /\n"
      "# |||||  [1,2) [2,5) [5,15) [15,30) [30,60) [60,120) [120,240) [240,+inf)\n";
  for (const char* row : {"csei",
                          "dsei",
                          "cfei",
                          "dfei",
                          "csui",
                          "dsui",
                          "cfui",
                          "dfui",
                          "csea",
                          "dsea",
                          "cfea",
                          "dfea",
                          "csua",
                          "dsua",
                          "cfua",
                          "dfua"}) {
    if (row == left_out) continue;
    const bool counts = row[1] == 'f' && row[3] == 'i';
    out += std::string{"  "} + row;
    out += row == std::string{"cfei"} ? " " + cfei + "\n" : counts ? kZeros : " 1 1 1 1 1 1 1 1\n";
  }
  return out + "  slab 9 9 9 9 9 9 9 9\n";
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
    CHECK(parse_idle_page_stats(stats("1 2 3 4 5 6 7 8 9")).error().code == Errc::kParse);
    CHECK(parse_idle_page_stats(stats("1 2 3 4 5 6 7 9223372036854775807")).has_error());
    CHECK(parse_idle_page_stats(stats("1 2 3 4 5 6 7 8"), 8).error().code == Errc::kParse);
    auto text = stats("1 2 3 4 5 6 7 8");
    CHECK(std::count(text.begin(), text.end(), '\n') == 31);
    text.pop_back();
    CHECK(parse_idle_page_stats(text).error().code == Errc::kParse);  // cut
    text = stats("1 2 3 4 5 6 7 8");
    CHECK(parse_idle_page_stats(text.substr(text.find("#\n"))).error().code == Errc::kParse);
    for (const char* row : {"cfei", "dfei", "cfui", "dfui"}) {
      CAPTURE(row);
      CHECK(parse_idle_page_stats(stats("1 2 3 4 5 6 7 8", row)).error().code == Errc::kParse);
    }
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
    t.write("cg/memory/c/memory.stat", "");  // this cgroup lives without the file
    CHECK(
        read_cold_memory(roots, CgroupVersion::kV1, CgroupPath::parse("c").value()).error().code ==
        Errc::kNotSupported);
    roots.sys = t.path("nowhere");
    CHECK_FALSE(has_kidled(roots));
    CHECK(read_cold_memory(roots, CgroupVersion::kV1, a).error().code == Errc::kNotSupported);
  }
}

}  // namespace
