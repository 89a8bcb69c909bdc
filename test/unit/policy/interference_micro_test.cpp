#include <algorithm>

#include <doctest/doctest.h>

#include "unit/policy/interference_rig.hpp"

using namespace koordlet;
using namespace koordlet::policy;

TEST_SUITE("policy/interference micro") {
  TEST_CASE("without cache counts, or without their baseline, M is the CPI alone") {
    auto w = t22();
    w.micro[0].llc_miss_ratio.reset();
    CHECK(degree(w, kConfirmed).micro == doctest::Approx(75));
    CHECK(misses(degree(w, kConfirmed), "llc"));
    w = t22();
    auto table = t22_baselines();
    table.begin()->second.llc = {};
    CHECK(degree(w, kConfirmed, table).micro == doctest::Approx(75));
    CHECK(misses(degree(w, kConfirmed, table), "llc"));
  }
  TEST_CASE("cache misses never count for more than the CPI that they cause") {
    auto w = t22();
    w.micro[0].cpi = 1.8 + 1.5 * 0.16;  // 25
    w.micro[0].llc_miss_ratio = 0.9;    // far over 100
    CHECK(degree(w, kConfirmed).micro == doctest::Approx(25));
  }
  TEST_CASE("CPI of less than a quarter of a core is missing, and so is one of a young baseline") {
    auto w = t22();
    w.micro[0].used = MilliCpu{249};
    CHECK(misses(degree(w, kConfirmed), "cpi"));
    CHECK(degree(w, kConfirmed).micro == 0);
    w.micro[0].used = MilliCpu{250};
    BaselineTable young;
    for (int i = 0; i < 59; ++i) young[{"owner", "app", "cpu"}].cpi.learn(1.8, 1);
    CHECK(misses(degree(w, kConfirmed, young), "cpi baseline"));
    CHECK(degree(w, kConfirmed, young).micro == 0);
    young[{"owner", "app", "cpu"}].cpi.learn(1.8, 1);
    CHECK_FALSE(misses(degree(w, kConfirmed, young), "cpi baseline"));
    CHECK(misses(degree(w, kConfirmed, {}), "cpi baseline"));
  }
  TEST_CASE("a baseline of another owner, container or CPU model is not this one's") {
    const auto w = t22();
    CHECK(degree_of(w, t22_baselines(), "owner", "cpu", kConfirmed, {}).micro > 0);
    CHECK(degree_of(w, t22_baselines(), "other", "cpu", kConfirmed, {}).micro == 0);
    CHECK(degree_of(w, t22_baselines(), "owner", "other", kConfirmed, {}).micro == 0);
    auto renamed = w;
    renamed.micro[0].container = "other";
    CHECK(degree_of(renamed, t22_baselines(), "owner", "cpu", kConfirmed, {}).micro == 0);
  }
  TEST_CASE("the container that is hurt most counts, in any order") {
    const auto by_name = [](const MicroSample& a, const MicroSample& b) {
      return a.container < b.container;
    };
    auto w = t22();
    auto table = t22_baselines();
    table[{"owner", "side", "cpu"}] = {baseline(1.0, 0.1), baseline(0.3, 0.05)};
    w.micro.push_back({"init", MilliCpu{500}, 9.0, 0.3});  // never learned
    w.micro.push_back({"side", MilliCpu{500}, 1.0, 0.3});
    int orders = 0;
    do {
      const auto d = degree(w, kConfirmed, table);
      CHECK(d.micro == doctest::Approx(67.5));
      CHECK(d.degree == 85);
      CHECK(d.missing.empty());
      ++orders;
    } while (std::next_permutation(w.micro.begin(), w.micro.end(), by_name));
    CHECK(orders == 6);
  }
  TEST_CASE("confirmed by 3 of the last 5 samples, not by those before") {
    CHECK(degree(t22(), {false, true, true, false, true}).micro_confirmed);
    CHECK_FALSE(degree(t22(), {true, true, true, false, false, true, false}).micro_confirmed);
    CHECK(degree(t22(), {true, true, true}).micro_confirmed);
  }
}
