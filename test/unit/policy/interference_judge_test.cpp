#include <doctest/doctest.h>

#include "unit/policy/interference_rig.hpp"

using namespace koordlet;
using namespace koordlet::policy;

namespace {

/// One pod, a window each 10 s.
struct Judge {
  InterferenceState state;
  InterferenceConfig config;
  MonoTime now{1000s};
  PodInterference look(InterferenceWindow w) {
    now += 10s;
    w.at = now;
    auto [result, next] = judge("uid", w, t22_baselines(), "owner", "cpu", state, config);
    state = next;
    return result;
  }
  PodInterference operator()(double degree) { return look(of_degree(degree, now)); }
  PodInterference unknown() { return look(empty_window()); }
  PodInterference cpi(double sigmas) {
    auto w = empty_window();
    w.micro = {{"app", MilliCpu{1000}, 1.8 + sigmas * 0.16, std::nullopt}};
    return look(w);
  }
};

}  // namespace

TEST_SUITE("policy/interference state") {
  TEST_CASE("interfered with the third of five windows at 50 or more") {
    Judge j;
    const auto first = j(50);
    CHECK_FALSE(first.interfered);
    CHECK(first.since == j.now);
    CHECK_FALSE(j(10).interfered);
    CHECK_FALSE(j(60).interfered);
    CHECK_FALSE(j(49).interfered);
    const auto fifth = j(50);
    CHECK(fifth.interfered);
    CHECK(fifth.since == j.now);
    const auto since = fifth.since;
    CHECK(j(90).since == since);
    CHECK(j.state.since == since);
  }
  TEST_CASE("at once by three in a row: no five windows are waited for") {
    Judge j;
    CHECK_FALSE(j(50).interfered);
    CHECK_FALSE(j(50).interfered);
    CHECK(j(50).interfered);
  }
  TEST_CASE("two of five are not enough") {
    Judge j;
    for (const int d : {90, 10, 10, 90, 10, 10, 10, 90, 90}) CHECK_FALSE(j(d).interfered);
    CHECK_FALSE(j(49).interfered);
  }
  TEST_CASE("cleared by five windows in a row below 30, and the count starts anew at 30") {
    Judge j;
    for (int i = 0; i < 3; ++i) j(80);
    for (int i = 0; i < 4; ++i) CHECK(j(29).interfered);
    CHECK(j(30).interfered);
    for (int i = 0; i < 4; ++i) CHECK(j(0).interfered);
    const auto cleared = j(0);
    CHECK_FALSE(cleared.interfered);
    CHECK(cleared.since == j.now);
  }
  TEST_CASE("between 30 and 50 a pod stays as it is") {
    Judge j;
    for (int i = 0; i < 20; ++i) CHECK_FALSE(j(40).interfered);
    for (int i = 0; i < 3; ++i) j(50);
    for (int i = 0; i < 20; ++i) CHECK(j(40).interfered);
  }
  TEST_CASE("windows that nothing is known of neither enter nor clear, and keep the level") {
    Judge j;
    j(80);
    j(80);
    for (int i = 0; i < 4; ++i) CHECK_FALSE(j.unknown().interfered);
    CHECK(j(80).interfered);
    for (int i = 0; i < 4; ++i) j(0);
    for (int i = 0; i < 4; ++i) CHECK(j.unknown().interfered);
    CHECK_FALSE(j(0).interfered);
    j(70);
    const auto unknown = j.unknown();
    CHECK_FALSE(unknown.degree.degree);
    CHECK(unknown.level == InterferenceLevel::kHigh);
  }
  TEST_CASE("five windows in a row that nothing is known of end what was known before") {
    Judge j;
    for (int i = 0; i < 3; ++i) j(80);
    for (int i = 0; i < 4; ++i) CHECK(j.unknown().interfered);
    const auto out = j.unknown();
    CHECK_FALSE(out.interfered);
    CHECK(out.since == j.now);
    CHECK(out.level == InterferenceLevel::kNone);
    // The bad windows of before do not count for a new one.
    j(80);
    CHECK_FALSE(j(80).interfered);
    CHECK(j(80).interfered);
  }
  TEST_CASE("a pod of which nothing was ever known has no degree and level none") {
    Judge j;
    const auto p = j.unknown();
    CHECK_FALSE(p.degree.degree);
    CHECK_FALSE(p.worst_z);
    CHECK(p.level == InterferenceLevel::kNone);
    CHECK(p.since == j.now);
  }
  TEST_CASE("levels: none below 30, mid below 60, high from there") {
    Judge j;
    CHECK(j(29).level == InterferenceLevel::kNone);
    CHECK(j(30).level == InterferenceLevel::kMid);
    CHECK(j(59).level == InterferenceLevel::kMid);
    CHECK(j(60).level == InterferenceLevel::kHigh);
  }
  TEST_CASE("what is remembered does not grow") {
    Judge j;
    for (int i = 0; i < 100; ++i) j.cpi(3);
    CHECK(j.state.degrees.size() == 5);
    CHECK(j.state.cpi_outliers.size() == 5);
    j.config.clear_windows = 8;
    for (int i = 0; i < 100; ++i) j(80);
    CHECK(j.state.degrees.size() == 8);
    for (int i = 0; i < 7; ++i) CHECK(j(0).interfered);
    CHECK_FALSE(j(0).interfered);
  }
}

TEST_SUITE("policy/interference CPI between readings") {
  TEST_CASE("the third outlier of five readings confirms the CPI") {
    Judge j;
    for (const int wanted : {49, 49, 75}) {
      const auto p = j.cpi(2.5);
      CHECK(p.degree.degree == wanted);
      CHECK(p.worst_z.value() == doctest::Approx(2.5));
    }
    CHECK(j.cpi(1.5).degree.degree == 25);
    CHECK(j.cpi(1.5).degree.micro_confirmed);
    CHECK(j.cpi(2.5).degree.micro_confirmed);        // 2.5 2.5 1.5 1.5 2.5
    CHECK_FALSE(j.cpi(1.5).degree.micro_confirmed);  // 2.5 1.5 1.5 2.5 1.5
  }
  TEST_CASE("2 sigma exactly is no outlier") {
    Judge j;
    for (int i = 0; i < 5; ++i) j.cpi(1.999);
    CHECK(j.state.cpi_outliers == std::deque<bool>(5, false));
    j.cpi(2.001);
    CHECK(j.state.cpi_outliers.back());
  }
  TEST_CASE("a reading stands for the windows up to the next one, and counts once") {
    Judge j;
    j.cpi(2.5);
    for (int i = 0; i < 7; ++i) {
      const auto p = j.unknown();
      CHECK(p.degree.degree == 49);
      CHECK(p.worst_z.value() == doctest::Approx(2.5));
      CHECK(p.window.micro.size() == 1);  // what the degree stands on is shown
      CHECK(j.state.cpi_outliers.size() == 1);
    }
    const auto old = j.unknown();  // 80 s after it
    CHECK_FALSE(old.degree.degree);
    CHECK_FALSE(old.worst_z);
    CHECK(misses(old.degree, "cpi"));
  }
  TEST_CASE("a confirmed CPI alone makes a pod interfered though it is read once a minute") {
    Judge j;
    bool interfered = false;
    for (int i = 0; i < 18; ++i) interfered = (i % 6 == 0 ? j.cpi(3.5) : j.unknown()).interfered;
    CHECK(interfered);
    CHECK(j.state.cpi_outliers.size() == 3);
  }
  TEST_CASE("a reading that cannot be used ends the one before it") {
    Judge j;
    j.cpi(2.5);
    auto idle = empty_window();
    idle.micro = {{"app", MilliCpu{10}, 2.2, std::nullopt}};
    CHECK_FALSE(j.look(idle).degree.degree);
    CHECK_FALSE(j.unknown().degree.degree);
    CHECK(j.state.cpi_outliers.size() == 1);
  }
}

TEST_SUITE("policy/interference node") {
  TEST_CASE("the node's degree is its worst pod's, best effort's part the largest of any pod") {
    std::vector<PodInterference> pods(3);
    pods[0].uid = "a";
    pods[0].degree.degree = 40;
    pods[0].degree.be_degree = 35;
    pods[1].uid = "b";
    pods[1].degree.degree = 70;
    pods[1].degree.be_degree = 5;
    pods[1].degree.top = InterferenceComponent::kIo;
    pods[2].uid = "c";  // nothing known, interfered since before
    pods[2].interfered = true;
    const auto node = worst_of(pods, MonoTime{5s});
    CHECK(node.at == MonoTime{5s});
    CHECK(node.degree == 70);
    CHECK(node.be_degree == 35);
    CHECK(node.pod_uid == "b");
    CHECK(node.top == InterferenceComponent::kIo);
    CHECK(node.interfered);
  }
  TEST_CASE("equal degrees name the same pod in any order") {
    std::vector<PodInterference> pods(2);
    pods[0].uid = "b";
    pods[1].uid = "a";
    pods[0].degree.degree = pods[1].degree.degree = 0;
    CHECK(worst_of(pods, MonoTime{}).pod_uid == "a");
    std::swap(pods[0], pods[1]);
    CHECK(worst_of(pods, MonoTime{}).pod_uid == "a");
  }
  TEST_CASE("no pod, or none that is known, gives no degree") {
    CHECK_FALSE(worst_of({}, MonoTime{}).degree);
    const auto node = worst_of(std::vector<PodInterference>(3), MonoTime{});
    CHECK_FALSE(node.degree);
    CHECK_FALSE(node.be_degree);
    CHECK(node.pod_uid.empty());
    CHECK_FALSE(node.interfered);
  }
}
