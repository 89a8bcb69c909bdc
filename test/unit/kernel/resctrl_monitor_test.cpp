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
    for (const char* word : {"many\n", "-1\n", "\n"}) {
      CAPTURE(word);
      t.write(file, word);
      CHECK(read_resctrl_group(roots_of(t), "").error().code == Errc::kParse);
    }
  }
  TEST_CASE("no such group is kNotFound, a name that is a path is refused") {
    const FakeTree t{{"sys/fs/resctrl/mon_data/mon_L3_00/llc_occupancy", "1\n"}};
    CHECK(read_resctrl_group(roots_of(t), "LS").error().code == Errc::kNotFound);
    for (const char* name : {"../x", "a/b", "."}) {
      CAPTURE(name);
      CHECK(read_resctrl_group(roots_of(t), name).error().code == Errc::kRange);
    }
  }
}

}  // namespace
