#include "policy/interference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include <doctest/doctest.h>

namespace koordlet::policy {
namespace {

using namespace std::chrono_literals;

/// Signals of worked example T22: each above its lower end.
InterferenceWindow t22() {
  InterferenceWindow w;
  w.length = 10s;
  w.at = MonoTime{100s};
  w.length = 10s;
  w.run = 15s;
  w.wait = 1500ms;
  w.dispatches = 5000;
  w.wait_p95 = 2500us;
  w.cpu = StallShare{15, 6};
  w.memory = StallShare{3, 0};
  w.io = StallShare{10, 10};
  w.throttled = Permille{0};
  w.micro = {{"app", MilliCpu{1500}, 2.2, 0.4}};
  w.used = MilliCpu{1500};
  w.node_capacity = MilliCpu{64'000};
  return w;
}

/// Mature, of the mean and sigma asked for: half of the samples at each side.
Baseline baseline(double mean, double sigma) {
  Baseline out;
  for (int i = 0; i < 60; ++i) out.learn(mean + (i % 2 == 0 ? sigma : -sigma), 20'000);
  return out;
}

/// CPI 1.8 with sigma 0.16; a miss ratio of 0.4 is 2 sigma above 0.3.
BaselineTable t22_baselines() {
  BaselineTable out;
  out[{"owner", "app", "cpu"}] = {baseline(1.8, 0.16), baseline(0.3, 0.05)};
  return out;
}

const std::deque<bool> kConfirmed{true, true, true, false, false};

InterferenceDegree degree(const InterferenceWindow& w, const std::deque<bool>& outliers) {
  return degree_of(w, t22_baselines(), "owner", "cpu", outliers, {});
}

bool misses(const InterferenceDegree& d, const std::string& name) {
  return std::find(d.missing.begin(), d.missing.end(), name) != d.missing.end();
}

TEST_SUITE("interference/degree") {
  TEST_CASE("T22: C 50, M 67.5, P 0, I 16.7 make 85 when the CPI is confirmed") {
    const auto d = degree(t22(), kConfirmed);
    CHECK(d.cpu == doctest::Approx(50));
    CHECK(d.micro == doctest::Approx(67.5));
    CHECK(d.memory == 0);
    CHECK(d.io == doctest::Approx(16.6667));
    CHECK(d.degree == 85);
    CHECK(d.top == InterferenceComponent::kMicro);
    CHECK(d.missing.empty());
  }
  TEST_CASE("T22: an unconfirmed CPI counts 49 at most: 77") {
    const auto d = degree(t22(), {true, true, false});
    CHECK(d.micro == doctest::Approx(49));
    CHECK(d.degree == 77);
  }
  TEST_CASE("T22: what the pod's own quota throttles is not interference: 80") {
    auto w = t22();
    w.throttled = Permille{400};
    const auto d = degree(w, kConfirmed);
    CHECK(d.cpu == doctest::Approx(30));
    CHECK(d.degree == 80);
  }
  TEST_CASE("T22: everything at or below the lower ends is 0") {
    auto w = t22();
    w.wait = 300ms;  // 0.02 of 15 s
    w.wait_p95 = 1ms;
    w.cpu = StallShare{5, 2};
    w.memory = StallShare{5, 1};
    w.io = StallShare{10, 5};
    w.micro = {{"app", MilliCpu{1500}, 1.96, 0.35}};  // 1 sigma
    const auto d = degree(w, kConfirmed);
    CHECK(d.degree == 0);
  }
  TEST_CASE("T23: 1.6 of 64 cores of best effort halve 80, 3.2 give it in full") {
    InterferenceWindow w;
    w.length = 10s;
    w.cpu = StallShare{0, 14.8};  // 80 on the ramp 2..18
    w.node_capacity = MilliCpu{64'000};
    w.be_used = MilliCpu{1600};
    CHECK(degree(w, {}).degree == 80);
    CHECK(degree(w, {}).be_degree == 40);
    w.be_used = MilliCpu{3200};
    CHECK(degree(w, {}).be_degree == 80);
    w.be_used = MilliCpu{9000};
    CHECK(degree(w, {}).be_degree == 80);
    w.be_used = MilliCpu{0};
    CHECK(degree(w, {}).be_degree == 0);
    w.be_used.reset();
    CHECK_FALSE(degree(w, {}).be_degree);
  }
  TEST_CASE("waits that passed behind others than best effort are not its fault") {
    InterferenceWindow w;
    w.length = 10s;
    w.run = 10s;
    w.wait = 1800ms;  // 0.18: 100
    w.dispatches = 1000;
    w.node_capacity = MilliCpu{2000};
    w.be_used = MilliCpu{1000};
    w.behind_best_effort = 900ms;
    CHECK(degree(w, {}).degree == 100);
    CHECK(degree(w, {}).be_degree == 50);
    w.behind_best_effort = 0ms;
    CHECK(degree(w, {}).be_degree == 0);
    w.behind_best_effort = 5s;  // more than was waited: all of it
    CHECK(degree(w, {}).be_degree == 100);
  }
  TEST_CASE("no signal at all is unknown, not 0") {
    const auto d = degree(InterferenceWindow{}, {});
    CHECK_FALSE(d.degree);
    CHECK_FALSE(d.be_degree);
    for (const auto* name : {"run queue", "cpu psi", "memory psi", "io psi", "cpi", "throttling"}) {
      CAPTURE(name);
      CHECK(misses(d, name));
    }
  }
  TEST_CASE("a signal that is missing counts 0 and is named") {
    auto w = t22();
    w.cpu.reset();
    w.io.reset();
    w.micro.clear();
    const auto d = degree(w, kConfirmed);
    CHECK(d.degree == 50);  // the run queue alone
    CHECK(misses(d, "cpu psi"));
    CHECK(misses(d, "io psi"));
    CHECK(misses(d, "cpi"));
  }
  TEST_CASE("a kernel without the full line of cpu: some counts in full") {
    InterferenceWindow w;
    w.length = 10s;
    w.cpu = StallShare{25, std::nullopt};
    CHECK(degree(w, {}).cpu == doctest::Approx(50));
    w.cpu = StallShare{25, 0};
    CHECK(degree(w, {}).cpu == doctest::Approx(25));
  }
  TEST_CASE("49 dispatches say nothing of the run queue, 50 do") {
    auto w = t22();
    w.cpu.reset();
    w.dispatches = 49;
    CHECK(misses(degree(w, {}), "run queue"));
    w.dispatches = 50;
    CHECK(degree(w, {}).cpu == doctest::Approx(50));
  }
  TEST_CASE("CPI of less than a quarter of a core, or of a young baseline, is missing") {
    auto w = t22();
    w.micro[0].used = MilliCpu{249};
    CHECK(misses(degree(w, kConfirmed), "cpi"));
    BaselineTable young;
    for (int i = 0; i < 59; ++i) young[{"owner", "app", "cpu"}].cpi.learn(1.8, 1);
    w = t22();
    CHECK(misses(degree_of(w, young, "owner", "cpu", kConfirmed, {}), "cpi baseline"));
    young[{"owner", "app", "cpu"}].cpi.learn(1.8, 1);
    CHECK_FALSE(misses(degree_of(w, young, "owner", "cpu", kConfirmed, {}), "cpi baseline"));
  }
  TEST_CASE("without cache counts M is the CPI alone") {
    auto w = t22();
    w.micro[0].llc_miss_ratio.reset();
    CHECK(degree(w, kConfirmed).micro == doctest::Approx(75));
  }
  TEST_CASE("values that are no numbers are missing, never NaN in the result") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const double inf = std::numeric_limits<double>::infinity();
    for (const double bad : {nan, inf, -1.0}) {
      CAPTURE(bad);
      auto w = t22();
      w.cpu = StallShare{bad, 6};
      w.memory = StallShare{3, bad};
      w.io = StallShare{bad, bad};
      w.micro[0].cpi = bad;
      const auto d = degree(w, kConfirmed);
      CHECK(misses(d, "cpu psi"));
      CHECK(misses(d, "memory psi"));
      CHECK(misses(d, "io psi"));
      CHECK(misses(d, "cpi"));
      CHECK(d.degree == 50);
    }
    auto w = t22();
    w.wait = -5s;  // a counter that went back
    CHECK(misses(degree(w, {}), "run queue"));
    w.wait = 1500ms;
    w.run = 0s;
    w.wait_p95.reset();
    CHECK(misses(degree(w, {}), "run queue"));
  }
  TEST_CASE("any window gives 0 to 100, and more of one signal never gives less") {
    std::mt19937 random{4};
    std::uniform_real_distribution<double> percent{0, 120};
    for (int i = 0; i < 500; ++i) {
      InterferenceWindow w = t22();
      const auto share = [&] { return StallShare{percent(random), percent(random)}; };
      w.cpu = share();
      w.memory = share();
      w.io = share();
      w.wait = std::chrono::milliseconds{static_cast<int>(percent(random) * 30)};
      w.micro[0].cpi = percent(random) / 30;
      w.be_used = MilliCpu{static_cast<int>(percent(random) * 100)};
      const auto before = degree(w, kConfirmed);
      REQUIRE(before.degree);
      CHECK(*before.degree >= 0);
      CHECK(*before.degree <= 100);
      CHECK(*before.be_degree <= *before.degree);
      auto worse = w;
      worse.io->some_percent += 5;
      CHECK(*degree(worse, kConfirmed).degree >= *before.degree);
      worse = w;
      *worse.wait += 200ms;
      CHECK(*degree(worse, kConfirmed).degree >= *before.degree);
      worse = w;
      worse.micro[0].cpi += 0.1;
      CHECK(*degree(worse, kConfirmed).degree >= *before.degree);
    }
  }
  TEST_CASE("the container that is hurt most counts, in any order") {
    auto w = t22();
    auto table = t22_baselines();
    table[{"owner", "side", "cpu"}] = {baseline(1.0, 0.1), baseline(0.3, 0.05)};
    w.micro.push_back({"side", MilliCpu{500}, 1.0, 0.3});
    const auto one = degree_of(w, table, "owner", "cpu", kConfirmed, {});
    std::swap(w.micro[0], w.micro[1]);
    const auto other = degree_of(w, table, "owner", "cpu", kConfirmed, {});
    CHECK(one.micro == doctest::Approx(67.5));
    CHECK(other.degree == one.degree);
  }
  TEST_CASE("the node's degree is its worst pod's") {
    std::vector<PodInterference> pods(3);
    pods[0].uid = "a";
    pods[0].degree.degree = 20;
    pods[0].degree.be_degree = 15;
    pods[1].uid = "b";
    pods[1].degree.degree = 70;
    pods[1].degree.top = InterferenceComponent::kIo;
    pods[1].interfered = true;
    pods[2].uid = "c";  // nothing known
    const auto node = worst_of(pods, MonoTime{5s});
    CHECK(node.degree == 70);
    CHECK(node.be_degree == 15);
    CHECK(node.pod_uid == "b");
    CHECK(node.top == InterferenceComponent::kIo);
    CHECK(node.interfered);
    CHECK_FALSE(worst_of({}, MonoTime{}).degree);
  }
}

/// A window of just that degree: the io ramp of "full" by 0.6 reaches 60 only, cpu full all.
InterferenceWindow of_degree(int degree, MonoTime at) {
  InterferenceWindow w;
  w.length = 10s;
  w.at = at;
  w.cpu = StallShare{0, 2 + 16.0 * degree / 100};
  return w;
}

struct Judge {
  InterferenceState state;
  MonoTime now;
  PodInterference operator()(int degree) {
    now += 10s;
    auto [result, next] = judge("uid", of_degree(degree, now), {}, "o", "c", state, {});
    state = next;
    return result;
  }
  PodInterference unknown() {
    now += 10s;
    InterferenceWindow w;
    w.length = 10s;
    w.at = now;
    auto [result, next] = judge("uid", w, {}, "o", "c", state, {});
    state = next;
    return result;
  }
};

TEST_SUITE("interference/state") {
  TEST_CASE("interfered with the third of five windows at 50 or more") {
    Judge j;
    CHECK_FALSE(j(50).interfered);
    CHECK_FALSE(j(10).interfered);
    CHECK_FALSE(j(60).interfered);
    CHECK_FALSE(j(49).interfered);
    const auto third = j(50);
    CHECK(third.interfered);
    CHECK(third.since == j.now);
  }
  TEST_CASE("two of five are not enough") {
    Judge j;
    for (const int d : {90, 10, 10, 90, 10, 10, 10, 90, 90}) CHECK_FALSE(j(d).interfered);
  }
  TEST_CASE("cleared by five windows in a row below 30") {
    Judge j;
    for (int i = 0; i < 3; ++i) j(80);
    for (int i = 0; i < 4; ++i) CHECK(j(29).interfered);
    CHECK(j(30).interfered);
    for (int i = 0; i < 4; ++i) CHECK(j(0).interfered);
    CHECK_FALSE(j(0).interfered);
  }
  TEST_CASE("windows that nothing is known of neither enter nor clear") {
    Judge j;
    j(80);
    j(80);
    CHECK_FALSE(j.unknown().interfered);
    CHECK(j(80).interfered);
    for (int i = 0; i < 10; ++i) CHECK(j.unknown().interfered);
    CHECK(j.unknown().level == InterferenceLevel::kHigh);  // the last that is known
  }
  TEST_CASE("levels: none below 30, mid below 60, high from there") {
    Judge j;
    CHECK(j(29).level == InterferenceLevel::kNone);
    CHECK(j(30).level == InterferenceLevel::kMid);
    CHECK(j(59).level == InterferenceLevel::kMid);
    CHECK(j(60).level == InterferenceLevel::kHigh);
  }
  TEST_CASE("the third CPI outlier of five confirms it") {
    InterferenceState state;
    std::vector<int> degrees;
    for (int i = 0; i < 4; ++i) {
      InterferenceWindow w;
      w.length = 10s;
      w.at = MonoTime{std::chrono::seconds{10 * i}};
      w.micro = {{"app", MilliCpu{1000}, 2.2, std::nullopt}};  // 2.5 sigma: 75
      auto [result, next] = judge("uid", w, t22_baselines(), "owner", "cpu", state, {});
      degrees.push_back(result.degree.degree.value());
      CHECK(result.worst_z.value() == doctest::Approx(2.5));
      state = next;
    }
    CHECK(degrees == std::vector<int>{49, 49, 75, 75});
  }
}

TEST_SUITE("interference/baseline") {
  TEST_CASE("mean and sigma of what was learned") {
    Baseline b;
    for (const double v : {2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0}) b.learn(v, 1);
    CHECK(b.mean == doctest::Approx(5));
    CHECK(b.sigma() == doctest::Approx(2));
    CHECK(b.samples == 8);
  }
  TEST_CASE("mature from 60 samples on") {
    Baseline b;
    for (int i = 0; i < 59; ++i) b.learn(1, 1);
    CHECK_FALSE(b.z(2, 60));
    b.learn(1, 1);
    CHECK(b.z(2, 60).value() == doctest::Approx(20));  // sigma 0: 5 % of the mean
  }
  TEST_CASE("an older day weighs 0.9, its mean stays") {
    Baseline b;
    for (int i = 0; i < 10; ++i) b.learn(1, 100);
    b.learn(2, 101);
    CHECK(b.weight == doctest::Approx(10));                // 10 x 0.9 + 1
    CHECK(b.mean == doctest::Approx((9.0 * 1 + 2) / 10));  // weighted
    b.learn(2, 99);  // a clock that went back does not make it older
    CHECK(b.weight == doctest::Approx(11));
    CHECK(b.day == 101);
  }
  TEST_CASE("what is no number is not learned") {
    Baseline b;
    b.learn(std::numeric_limits<double>::quiet_NaN(), 1);
    b.learn(std::numeric_limits<double>::infinity(), 1);
    b.learn(-1, 1);
    CHECK(b.samples == 0);
    CHECK_FALSE(b.z(1, 0));
  }
  TEST_CASE("learned without best effort, or when nothing else disturbs, and not otherwise") {
    const InterferenceConfig c;
    BaselineTable table;
    auto w = t22();
    InterferenceDegree disturbed = degree(w, {});
    w.be_used = MilliCpu{500};
    learn(table, w, disturbed, "o", "c", 1, c);
    CHECK(table.empty());
    w.be_used.reset();  // not known is not "none"
    learn(table, w, disturbed, "o", "c", 1, c);
    CHECK(table.empty());
    w.be_used = MilliCpu{0};
    learn(table, w, disturbed, "o", "c", 1, c);
    CHECK(table.at({"o", "app", "c"}).cpi.samples == 1);
    w.be_used = MilliCpu{500};
    InterferenceDegree quiet;
    quiet.degree = 0;
    learn(table, w, quiet, "o", "c", 1, c);
    CHECK(table.at({"o", "app", "c"}).cpi.samples == 2);
    CHECK(table.at({"o", "app", "c"}).llc.samples == 2);
    w.micro[0].used = MilliCpu{249};
    learn(table, w, quiet, "o", "c", 1, c);
    CHECK(table.at({"o", "app", "c"}).cpi.samples == 2);
  }
  TEST_CASE("the oldest go first when there are too many") {
    BaselineTable table;
    for (int i = 0; i < 5; ++i) table[{"o" + std::to_string(i), "c", "m"}].cpi.learn(1, 10 + i);
    trim_baselines(table, 2);
    CHECK(table.size() == 2);
    CHECK(table.contains({"o3", "c", "m"}));
    CHECK(table.contains({"o4", "c", "m"}));
  }
}

std::deque<VictimWindow> history(const std::vector<double>& cpi, const std::vector<int>& used) {
  std::deque<VictimWindow> out;
  for (std::size_t i = 0; i < cpi.size(); ++i)
    out.push_back({cpi[i], 2.12, {{"s", MilliCpu{used[i]}}}});
  return out;
}

TEST_SUITE("interference/culprits") {
  TEST_CASE("T21: scores of the two worked histories") {
    CHECK(antagonist_score(history({2.5, 2.4, 1.9, 1.7}, {400, 300, 200, 100}), "s").value() ==
          doctest::Approx(0.055234).epsilon(1e-5));
    CHECK(antagonist_score(history({4.24, 4.24, 1.9, 2.0}, {500, 400, 100, 0}), "s").value() ==
          doctest::Approx(0.439623).epsilon(1e-5));
  }
  TEST_CASE("who used nothing, and who is not in it, has no score") {
    CHECK_FALSE(antagonist_score(history({3, 3}, {0, 0}), "s"));
    CHECK_FALSE(antagonist_score(history({3, 3}, {1, 1}), "other"));
    CHECK_FALSE(antagonist_score({}, "s"));
  }
  TEST_CASE("suspects from 0.35 on, best first, after a minute of windows") {
    std::deque<VictimWindow> windows;
    for (int i = 0; i < 6; ++i) {
      const bool pain = i >= 3;
      VictimWindow w;
      w.pain = pain ? 0.4 : 0.05;
      w.normal = 0.1;
      w.used["hog"] = MilliCpu{pain ? 1000 : 0};
      w.used["tail"] = MilliCpu{pain ? 900 : 100};
      w.used["steady"] = MilliCpu{500};
      windows.push_back(w);
      if (i < 5) CHECK(rank_culprits(windows, {}).empty());
    }
    // hog: 1 - 0.1/0.4 = 0.75; tail: 0.9 x 0.75 + 0.1 x (-0.5) = 0.625; steady: 0.125.
    const auto ranked = rank_culprits(windows, {});
    REQUIRE(ranked.size() == 2);
    CHECK(ranked[0].uid == "hog");
    CHECK(ranked[0].score == doctest::Approx(0.75));
    CHECK(ranked[0].used == MilliCpu{500});
    CHECK(ranked[1].uid == "tail");
    CHECK(ranked[1].score == doctest::Approx(0.625));
  }
}

}  // namespace
}  // namespace koordlet::policy
