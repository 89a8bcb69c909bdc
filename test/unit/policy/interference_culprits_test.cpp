#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "unit/policy/interference_rig.hpp"

using namespace koordlet;
using namespace koordlet::policy;

namespace {

std::deque<VictimWindow> history(double normal,
                                 const std::vector<double>& pain,
                                 const std::vector<int>& used) {
  std::deque<VictimWindow> out;
  for (std::size_t i = 0; i < pain.size(); ++i)
    out.push_back({pain[i], normal, {{"s", MilliCpu{used[i]}}}});
  return out;
}

/// Three quiet windows and three of pain 0.4 over a normal of 0.1.
std::deque<VictimWindow> quiet_then_pain(std::string uid, int quiet_use, int pain_use) {
  std::deque<VictimWindow> out;
  for (int i = 0; i < 6; ++i)
    out.push_back({i < 3 ? 0.05 : 0.4, 0.1, {{uid, MilliCpu{i < 3 ? quiet_use : pain_use}}}});
  return out;
}

}  // namespace

TEST_SUITE("policy/interference culprits") {
  TEST_CASE("T21: scores of the two worked histories to six digits") {
    const auto no =
        antagonist_score(history(2.12, {2.5, 2.4, 1.9, 1.7}, {400, 300, 200, 100}), "s");
    CHECK(std::abs(no.value() - 0.055234) < 5e-7);
    const auto yes =
        antagonist_score(history(2.12, {4.24, 4.24, 1.9, 2.0}, {500, 400, 100, 0}), "s");
    CHECK(std::abs(yes.value() - 0.439623) < 5e-7);
  }
  TEST_CASE("T21: the second history names the suspect, the first does not") {
    InterferenceConfig config;
    config.min_culprit_windows = 4;
    CHECK(rank_culprits(history(2.12, {2.5, 2.4, 1.9, 1.7}, {400, 300, 200, 100}), config).empty());
    const auto named =
        rank_culprits(history(2.12, {4.24, 4.24, 1.9, 2.0}, {500, 400, 100, 0}), config);
    REQUIRE(named.size() == 1);
    CHECK(named[0].uid == "s");
    CHECK(named[0].used == MilliCpu{250});
    CHECK(named[0].windows == 4);
  }
  TEST_CASE("only shares of the use count: ten times as much gives the same score") {
    const auto small = antagonist_score(history(2, {4, 1}, {30, 10}), "s");
    const auto large = antagonist_score(history(2, {4, 1}, {3000, 1000}), "s");
    CHECK(small.value() == doctest::Approx(0.75 * 0.5 + 0.25 * -0.5));
    CHECK(large.value() == doctest::Approx(small.value()));
  }
  TEST_CASE("who used nothing, or is not in it, has no score") {
    CHECK_FALSE(antagonist_score(history(2, {3, 3}, {0, 0}), "s"));
    CHECK_FALSE(antagonist_score(history(2, {3, 3}, {-5, -5}), "s"));
    CHECK_FALSE(antagonist_score(history(2, {3, 3}, {1, 1}), "other"));
    CHECK_FALSE(antagonist_score({}, "s"));
  }
  TEST_CASE("windows without a normal or a measured pain are left out") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const double inf = std::numeric_limits<double>::infinity();
    for (const double bad : {nan, inf, -1.0}) {
      auto w = history(2, {4, 4, bad}, {100, 100, 800});
      CHECK(antagonist_score(w, "s").value() == doctest::Approx(0.5));
      w[2].pain = 4;
      w[2].normal = bad;
      CHECK(antagonist_score(w, "s").value() == doctest::Approx(0.5));
    }
    CHECK_FALSE(antagonist_score(history(0, {4, 4}, {1, 1}), "s"));
  }
  TEST_CASE("the score stays within -1 and 1") {
    CHECK(antagonist_score(history(1, {1e18}, {1}), "s").value() == doctest::Approx(1));
    CHECK(antagonist_score(history(1, {0}, {1}), "s").value() == doctest::Approx(-1));
    CHECK(antagonist_score(history(1, {1}, {1}), "s").value() == 0);
  }
  TEST_CASE("nobody is blamed before six windows") {
    auto w = quiet_then_pain("hog", 0, 1000);
    w.pop_front();
    CHECK(rank_culprits(w, {}).empty());
    w = quiet_then_pain("hog", 0, 1000);
    CHECK(rank_culprits(w, {}).size() == 1);
  }
  TEST_CASE("a pod that came a window ago is not blamed, however many windows there are") {
    auto w = quiet_then_pain("hog", 0, 1000);
    w.back().used["new"] = MilliCpu{2000};
    const auto ranked = rank_culprits(w, {});
    REQUIRE(ranked.size() == 1);
    CHECK(ranked[0].uid == "hog");
  }
  TEST_CASE("a pod that uses next to nothing is not blamed for going along") {
    CHECK(rank_culprits(quiet_then_pain("tiny", 0, 98), {}).empty());
    CHECK(rank_culprits(quiet_then_pain("tiny", 0, 100), {}).size() == 1);
  }
  TEST_CASE("suspects from 0.35 on, best first") {
    std::deque<VictimWindow> windows;
    for (int i = 0; i < 6; ++i) {
      const bool pain = i >= 3;
      windows.push_back({pain ? 0.4 : 0.05,
                         0.1,
                         {{"hog", MilliCpu{pain ? 1000 : 0}},
                          {"tail", MilliCpu{pain ? 900 : 100}},
                          {"steady", MilliCpu{500}}}});
    }
    // hog: 1 - 0.1/0.4 = 0.75; tail: 0.9 x 0.75 + 0.1 x (-0.5) = 0.625; steady: 0.125.
    const auto ranked = rank_culprits(windows, {});
    REQUIRE(ranked.size() == 2);
    CHECK(ranked[0].uid == "hog");
    CHECK(ranked[0].score == doctest::Approx(0.75));
    CHECK(ranked[0].used == MilliCpu{500});
    CHECK(ranked[0].windows == 6);
    CHECK(ranked[1].uid == "tail");
    CHECK(ranked[1].score == doctest::Approx(0.625));
  }
  TEST_CASE("equal scores: the larger user first, then by uid") {
    auto w = quiet_then_pain("b", 0, 1000);
    for (std::size_t i = 0; i < w.size(); ++i) {
      w[i].used["a"] = MilliCpu{i < 3 ? 0 : 1000};
      w[i].used["c"] = MilliCpu{i < 3 ? 0 : 2000};
    }
    const auto ranked = rank_culprits(w, {});
    REQUIRE(ranked.size() == 3);
    CHECK(ranked[0].uid == "c");
    CHECK(ranked[1].uid == "a");
    CHECK(ranked[2].uid == "b");
  }
  TEST_CASE("a use whose sum is beyond 64 bits") {
    const auto most = std::numeric_limits<std::int64_t>::max();
    std::deque<VictimWindow> w;
    for (int i = 0; i < 6; ++i) w.push_back({4, 2, {{"s", MilliCpu{most}}}});
    CHECK(antagonist_score(w, "s").value() == doctest::Approx(0.5));
  }
}
