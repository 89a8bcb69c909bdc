#include <algorithm>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "unit/modules/resource_executor/rig.hpp"

using namespace koordlet;
using namespace koordlet::test;
using namespace std::chrono_literals;

namespace {

/// Pods whose weight follows from the pod alone.
struct Bed : Rig {
  explicit Bed(int pods) : Rig{CgroupVersion::kV2} {
    for (int i = 0; i < pods; ++i) {
      const auto name = fmt::format("kubepods/pod{}", i);
      tree.make(name);
      keys.push_back(key_of(name, CgroupFile::kCpuWeight));
      auto desired = wish(number(20));
      desired.steady = true;
      table.emplace(keys.back(), desired);
    }
    batch();
  }
  std::vector<Outcome> batch() {
    clock.advance(1s);
    return apply(table);
  }
  /// Files that hold what is wanted.
  int right() {
    return static_cast<int>(std::count_if(
        keys.begin(), keys.end(), [&](const CgroupKey& k) { return tree.text(k) == "20"; }));
  }
  std::vector<CgroupKey> keys;
  DesiredTable table;
};

}  // namespace

TEST_SUITE("executor/steady files") {
  TEST_CASE("up to 500 are looked at in each batch") {
    Bed b{400};
    REQUIRE(b.right() == 400);
    for (const auto& k : b.keys) b.tree.set(k, number(39));
    b.batch();
    CHECK(b.right() == 400);
  }

  TEST_CASE("of 1400 each batch looks at a part, and three at all") {
    Bed b{1400};
    REQUIRE(b.right() == 1400);
    for (const auto& k : b.keys) b.tree.set(k, number(39));
    const auto outcomes = b.batch();
    CHECK(outcomes.size() == 1400);
    CHECK(b.right() > 0);
    CHECK(b.right() < 1400);
    b.batch();
    b.batch();
    CHECK(b.right() == 1400);
  }

  TEST_CASE("another value is written at once, and what nobody wants goes back") {
    Bed b{1400};
    const auto original = b.held(b.keys[0]).original;
    b.table.at(b.keys[0]).value = number(59);
    b.batch();
    CHECK(b.tree.text(b.keys[0]) == "59");
    b.table.clear();
    b.batch();
    CHECK(b.tree.text(b.keys[0]) == original);
    CHECK(b.executor->held().empty());
  }
}
