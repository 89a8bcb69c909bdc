#include <doctest/doctest.h>

#include "sim/cpu_share.hpp"
#include "sim/demand.hpp"
#include "sim/latency.hpp"

using namespace koordlet::sim;
using namespace std::chrono_literals;
using doctest::Approx;

TEST_SUITE("sim/cpu_share") {
  TEST_CASE("who wants less than its share leaves the rest to the others") {
    // 10 split 1:1:2; the first wants 1, so 9 are left for weights 1 and 2.
    const auto given = fill(10, {1, 100, 100}, {1, 1, 2});
    CHECK(given[0] == Approx(1));
    CHECK(given[1] == Approx(3));
    CHECK(given[2] == Approx(6));
  }
  TEST_CASE("enough for all: everybody gets what it wants") {
    const auto given = fill(10, {1, 2, 3}, {5, 1, 1});
    CHECK(given == std::vector<double>{1, 2, 3});
  }
  TEST_CASE("nothing to give, nobody there") {
    CHECK(fill(0, {1}, {1}) == std::vector<double>{0});
    CHECK(fill(-1, {1}, {1}) == std::vector<double>{0});
    CHECK(fill(5, {}, {}).empty());
    std::vector<ShareGroup> none;
    share_cpu(none, 4);
  }
  TEST_CASE("V-B: equal weights give BE its 400 and LS 624 of 750; a cap of 240 gives LS all") {
    std::vector<ShareGroup> groups(3);
    groups[1].parent = groups[2].parent = 0;
    groups[1].demand = 750;
    groups[2].demand = 400;
    share_cpu(groups, 1024);
    CHECK(groups[1].given == Approx(624));
    CHECK(groups[2].given == Approx(400));
    groups[2].bound = 240;
    share_cpu(groups, 1024);
    CHECK(groups[1].given == Approx(750));
    CHECK(groups[2].given == Approx(240));
  }
  TEST_CASE("a bound in the middle of the tree holds everything below it") {
    std::vector<ShareGroup> groups(4);
    groups[1].parent = 0;
    groups[1].bound = 3;
    groups[2].parent = groups[3].parent = 1;
    groups[2].demand = 4;
    groups[3].demand = 1;
    share_cpu(groups, 100);
    CHECK(groups[1].given == Approx(3));
    CHECK(groups[3].given == Approx(1));
    CHECK(groups[2].given == Approx(2));
  }
  TEST_CASE("tasks of the root come first") {
    std::vector<ShareGroup> groups(2);
    groups[0].demand = 3;
    groups[1].parent = 0;
    groups[1].demand = 10;
    share_cpu(groups, 4);
    CHECK(groups[1].given == Approx(1));
  }
}

TEST_SUITE("sim/demand") {
  TEST_CASE("steps hold from their time on; before the first its value") {
    Demand d;
    d.curve = Demand::Curve::kSteps;
    d.steps = {{10s, 1.0}, {20s, 3.0}};
    CHECK(demand_at(d, 0s) == 1.0);
    CHECK(demand_at(d, 19999ms) == 1.0);
    CHECK(demand_at(d, 20s) == 3.0);
  }
  TEST_CASE("a day: high at the peak, low half a period away, a quarter of the swing between") {
    Demand d;
    d.curve = Demand::Curve::kDay;
    d.low = 2;
    d.high = 10;
    d.period = 24h;
    d.peak_at = 14h;
    CHECK(demand_at(d, 14h) == Approx(10));
    CHECK(demand_at(d, 2h) == Approx(2));
    CHECK(demand_at(d, 8h) == Approx(4));
  }
  TEST_CASE("sine: mean, then its top a quarter of the period later; never below 0") {
    Demand d;
    d.curve = Demand::Curve::kSine;
    d.mean = 1;
    d.amplitude = 3;
    d.period = 100s;
    CHECK(demand_at(d, 0s) == Approx(1));
    CHECK(demand_at(d, 25s) == Approx(4));
    CHECK(demand_at(d, 75s) == 0);
  }
  TEST_CASE("noise: the same for a seed, within its bounds, around zero, held for its time") {
    Demand d;
    d.value = 10;
    d.noise = 2;
    d.seed = 5;
    d.noise_hold = 1s;
    double sum = 0, least = 100, most = 0;
    for (int i = 0; i < 10'000; ++i) {
      const double v = demand_at(d, i * 1000ms);
      CHECK_MESSAGE(v == demand_at(d, i * 1000ms + 999ms), i);
      sum += v;
      least = std::min(least, v);
      most = std::max(most, v);
    }
    CHECK(sum / 10'000 == Approx(10).epsilon(0.005));
    CHECK(least >= 8);
    CHECK(least < 8.1);
    CHECK(most <= 12);
    CHECK(most > 11.9);
    Demand other = d;
    other.seed = 6;
    CHECK(demand_at(other, 0s) != demand_at(d, 0s));
  }
}

TEST_SUITE("sim/latency") {
  TEST_CASE("the mission's case: 5 ms when satisfied, 50 ms when 126 of 750 cores are missing") {
    const LatencyModel model;
    CHECK(latency_p99_ms(model, 750, 750) == Approx(5));
    CHECK(latency_p99_ms(model, 750, 624) == Approx(50));
  }
  TEST_CASE("no demand is no wait; more than asked for is no gain") {
    const LatencyModel model;
    CHECK(latency_p99_ms(model, 0, 0) == 5);
    CHECK(latency_p99_ms(model, 10, 20) == 5);
  }
  TEST_CASE("slowdown: 2 cores cut to 1.2 is +66.7 %; nothing at all is bounded") {
    CHECK(slowdown_percent(2, 1.2) == Approx(66.6667));
    CHECK(slowdown_percent(2, 2) == 0);
    CHECK(slowdown_percent(0, 0) == 0);
    CHECK(slowdown_percent(2, 0) == Approx(99'900));
  }
}
