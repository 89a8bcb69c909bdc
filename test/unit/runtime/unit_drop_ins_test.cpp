#include "runtime/unit_drop_ins.hpp"

#include <filesystem>

#include <doctest/doctest.h>

#include "support/fake_tree.hpp"

using namespace koordlet::runtime;
using koordlet::test::FakeTree;

namespace {

bool there(const FakeTree& tree, const std::string& path) {
  return std::filesystem::exists(tree.path(path));
}

}  // namespace

TEST_SUITE("unit drop-in files") {
  TEST_CASE("what says nothing new goes, with its folder when that is empty") {
    const FakeTree tree{
        {"systemd/transient/a.slice", "[Slice]\nCPUWeight=1\n"},
        {"systemd/transient/a.slice.d/50-CPUQuota.conf", "[Slice]\nCPUQuota=\n"},
        {"systemd/transient/a.slice.d/50-CPUWeight.conf", "[Slice]\nCPUWeight=1\n"}};
    CHECK(remove_redundant_drop_ins(tree.root(), "a.slice", {"CPUQuota", "CPUQuotaPeriodSec"}) ==
          1);
    CHECK(there(tree, "systemd/transient/a.slice.d/50-CPUWeight.conf"));
    CHECK(remove_redundant_drop_ins(tree.root(), "a.slice", {"CPUWeight"}) == 1);
    CHECK_FALSE(there(tree, "systemd/transient/a.slice.d"));
    CHECK(there(tree, "systemd/transient/a.slice"));
  }

  TEST_CASE("what another writer set stays, and what a further drop-in contradicts") {
    const FakeTree tree{
        {"systemd/transient/a.slice", "[Slice]\nMemoryMax=1G\n"},
        {"systemd/transient/a.slice.d/50-TasksMax.conf", "[Slice]\nTasksMax=5\n"},
        {"systemd/transient/a.slice.d/50-CPUQuota.conf", "[Slice]\nCPUQuota=20%\n"},
        {"systemd/transient/a.slice.d/50-MemoryMax.conf", "[Slice]\nMemoryMax=infinity\n"},
        {"systemd/transient/a.slice.d/10-low.conf", "[Slice]\nMemoryLow=1M\n"},
        {"systemd/transient/a.slice.d/50-MemoryLow.conf", "[Slice]\nMemoryLow=0\n"}};
    CHECK(remove_redundant_drop_ins(
              tree.root(), "a.slice", {"TasksMaxNot", "CPUQuota", "MemoryMax", "MemoryLow"}) == 0);
    CHECK(there(tree, "systemd/transient/a.slice.d/50-TasksMax.conf"));
  }

  TEST_CASE("units that are not transient, gone ones and odd names are left alone") {
    const FakeTree tree{{"systemd/system.control/b.slice.d/50-CPUQuota.conf", "CPUQuota=\n"},
                        {"systemd/transient/c.slice.d/50-CPUQuota.conf", "CPUQuota=\n"},
                        {"systemd/transient/d.slice", ""}};
    for (const char* unit : {"b.slice", "c.slice", "d.slice", "../transient/c.slice", ""}) {
      CAPTURE(unit);
      CHECK(remove_redundant_drop_ins(tree.root(), unit, {"CPUQuota"}) == 0);
    }
    CHECK(there(tree, "systemd/transient/c.slice.d/50-CPUQuota.conf"));
  }
}
