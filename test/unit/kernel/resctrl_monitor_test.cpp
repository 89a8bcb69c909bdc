#include "kernel/resctrl_monitor.hpp"

#include <doctest/doctest.h>

#include "support/fake_tree.hpp"

using namespace koordlet;
using namespace koordlet::kernel;
using koordlet::test::FakeTree;

namespace {

HostRoots roots_of(const FakeTree& t) {
  HostRoots roots;
  roots.sys = t.path("sys");
  return roots;
}

TEST_SUITE("resctrl_monitor") {
  TEST_CASE("each L3 domain by its id, the newline of the kernel trimmed") {
    const FakeTree t{{"sys/fs/resctrl/BE/mon_data/mon_L3_01/llc_occupancy", "65536\n"},
                     {"sys/fs/resctrl/BE/mon_data/mon_L3_01/mbm_total_bytes", "1000000000\n"},
                     {"sys/fs/resctrl/BE/mon_data/mon_L3_01/mbm_local_bytes", "5\n"},
                     {"sys/fs/resctrl/BE/mon_data/mon_L3_00/llc_occupancy", "0\n"},
                     {"sys/fs/resctrl/BE/mon_data/mon_sub_L3_00/llc_occupancy", "1\n"},
                     {"sys/fs/resctrl/BE/mon_data/mon_PERF_PKG_00/core_energy", "1\n"}};
    const auto caches = read_resctrl_group(roots_of(t), "BE");
    REQUIRE(caches.has_value());
    REQUIRE(caches->size() == 2);
    CHECK(caches->at(0).cache_id == 0);
    CHECK(caches->at(0).llc_occupancy_bytes == 0u);
    CHECK_FALSE(caches->at(0).mbm_total_bytes);  // no such file: no sample
    CHECK(caches->at(1).cache_id == 1);
    CHECK(caches->at(1).llc_occupancy_bytes == 65536u);
    CHECK(caches->at(1).mbm_total_bytes == 1'000'000'000u);
    CHECK(caches->at(1).mbm_local_bytes == 5u);
  }
  TEST_CASE("Error, Unavailable and Unassigned are no sample, other words are refused") {
    FakeTree t{{"sys/fs/resctrl/mon_data/mon_L3_00/llc_occupancy", "1\n"}};
    const auto file = "sys/fs/resctrl/mon_data/mon_L3_00/mbm_total_bytes";
    for (const char* word : {"Error\n", "Unavailable\n", "Unassigned\n"}) {
      CAPTURE(word);
      t.write(file, word);
      const auto caches = read_resctrl_group(roots_of(t), "");
      REQUIRE(caches.has_value());
      CHECK_FALSE(caches->front().mbm_total_bytes);
      CHECK(caches->front().llc_occupancy_bytes == 1u);
    }
    for (const char* word : {"many\n", "-1\n", "\n", "", "1 2\n", "12345"}) {
      CAPTURE(word);
      t.write(file, word);
      CHECK(read_resctrl_group(roots_of(t), "").error().code == Errc::kParse);
    }
  }
  TEST_CASE("no such group is kNotFound, a name that is a path is refused") {
    const FakeTree t{{"sys/fs/resctrl/mon_data/mon_L3_00/llc_occupancy", "1\n"}};
    CHECK(read_resctrl_group(roots_of(t), "LS").error().code == Errc::kNotFound);
    HostRoots bare;
    bare.sys = t.path("nowhere");  // not mounted
    CHECK(read_resctrl_group(bare, "").error().code == Errc::kNotFound);
    for (const char* name : {"../x", "a/b", ".", "..", "/", "info", "mon_data", "mon_groups"}) {
      CAPTURE(name);
      CHECK(read_resctrl_group(roots_of(t), name).error().code == Errc::kRange);
    }
  }
  TEST_CASE("a CPU that allocates caches and monitors none is kNotSupported") {
    const FakeTree t{{"sys/fs/resctrl/BE/schemata", "L3:0=fff\n"}};
    CHECK(read_resctrl_group(roots_of(t), "BE").error().code == Errc::kNotSupported);
  }
  TEST_CASE("odd cache ids keep their number, other names are left alone") {
    const FakeTree t{{"sys/fs/resctrl/mon_data/mon_L3_08/llc_occupancy", "5\n"},
                     {"sys/fs/resctrl/mon_data/mon_L3_112/llc_occupancy", "6\n"},
                     {"sys/fs/resctrl/mon_data/mon_L3_x/llc_occupancy", "7\n"},
                     {"sys/fs/resctrl/mon_data/mon_L3_/llc_occupancy", "8\n"},
                     {"sys/fs/resctrl/mon_data/mon_L2_00/llc_occupancy", "9\n"}};
    const auto caches = read_resctrl_group(roots_of(t), "").value();
    REQUIRE(caches.size() == 2);
    CHECK(caches[0].cache_id == 8);
    CHECK(caches[1].cache_id == 112);
  }
}

}  // namespace
