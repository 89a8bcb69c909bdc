#include "policy/predict_reclaimable.hpp"

#include <doctest/doctest.h>

#include "policy/predict_histogram.hpp"

using namespace koordlet;
using namespace koordlet::policy;
using namespace std::chrono_literals;

namespace {

constexpr std::int64_t kGi = 1073741824;

/// What the histograms make of a constant use: p95 of CPU, p98 of memory.
PeakAmount constant(double cores, double gi) {
  DecayingHistogram cpu{kCpuBuckets, 12h}, memory{kMemoryBuckets, 24h};
  cpu.add(PredictTime{1700000000}, cores);
  memory.add(PredictTime{1700000000}, gi * kGi);
  return {{static_cast<std::int64_t>(cpu.percentile(0.95) * 1000)},
          {static_cast<std::int64_t>(memory.percentile(0.98))}};
}

ReclaimableInput t19() {
  ReclaimableInput in;
  in.allocatable = {{32000}, {128 * kGi}};
  in.pods = {{"a", {{8000}, {32 * kGi}}, constant(6, 20), false, false},
             {"b", {{8000}, {16 * kGi}}, constant(3, 8), false, false},
             {"c", {{2000}, {4 * kGi}}, std::nullopt, true, false}};
  in.system = constant(0.8, 4);
  in.prod = constant(10, 30);
  in.none = constant(0, 0);
  return in;
}

}  // namespace

TEST_SUITE("policy/prodReclaimable") {
  TEST_CASE("T18: peaks of a constant use") {
    CHECK(constant(0, 0) == PeakAmount{{25}, {5242880}});
    CHECK(constant(0.8, 4) == PeakAmount{{826}, {4384414627}});
    CHECK(constant(3, 8) == PeakAmount{{3019}, {8783594342}});
    CHECK(constant(6, 20) == PeakAmount{{6137}, {22355817772}});
    CHECK(constant(10, 30) == PeakAmount{{10311}, {33079789500}});
  }
  TEST_CASE("T19: 32 cores, three pods") {
    const auto r = prod_reclaimable(t19());
    REQUIRE(r);
    CHECK(r->reclaimable == PeakAmount{{5722}, {14618183141}});
    CHECK(r->peak == PeakAmount{{12278}, {41216391707}});
    CHECK(r->unpredicted.empty());
  }
  TEST_CASE("api 2.6: 16 cores, one pod in its cold start") {
    ReclaimableInput in;
    in.allocatable = {{16000}, {64 * kGi}};
    in.pods = {{"a", {{4000}, {8 * kGi}}, PeakAmount{{1500}, {3 * kGi}}, false, false},
               {"b", {{2000}, {4 * kGi}}, std::nullopt, true, false}};
    in.system = PeakAmount{{500}, {2 * kGi}};
    in.prod = PeakAmount{{2200}, {5 * kGi}};
    in.none = PeakAmount{};
    const auto r = prod_reclaimable(in);
    REQUIRE(r);
    CHECK(r->reclaimable == PeakAmount{{2350}, {4617089844}});
    CHECK(r->peak == PeakAmount{{3650}, {8267812044}});
  }
  TEST_CASE("no more than the node has left") {
    auto in = t19();
    in.allocatable = {{12000}, {40 * kGi}};
    const auto r = prod_reclaimable(in);
    REQUIRE(r);
    // pods: 12000 - 10070; classes: 12000 - 12278, which is nothing
    CHECK(r->reclaimable.cpu == MilliCpu{0});
    CHECK(r->reclaimable.memory == Bytes{40 * kGi - 41216391707});
  }
  TEST_CASE("a missing class model is an error, not a zero") {
    auto in = t19();
    in.none.reset();
    CHECK_FALSE(prod_reclaimable(in));
  }
  TEST_CASE("an ended pod counts nowhere, a pod without a model with its request") {
    auto in = t19();
    in.pods[0].ended = true;
    in.pods[1].peak.reset();
    const auto r = prod_reclaimable(in);
    REQUIRE(r);
    CHECK(r->unpredicted == std::vector<std::string>{"b"});
    CHECK(r->reclaimable == PeakAmount{});
  }
  TEST_CASE("a request is the sum of containers, or the largest init container") {
    Pod pod;
    Container main, side, init;
    main.requests.cpu = MilliCpu{500};
    main.requests.memory = Bytes{100};
    side.requests.cpu = MilliCpu{100};
    init.requests.cpu = MilliCpu{400};
    init.requests.memory = Bytes{300};
    init.init = true;
    pod.containers = {main, side, init};
    CHECK(pod_request(pod) == PeakAmount{{600}, {300}});
    pod.overhead.cpu = MilliCpu{50};
    CHECK(pod_request(pod) == PeakAmount{{650}, {300}});
  }
  TEST_CASE("prod and none are reclaimable, mid, batch and free are not") {
    Pod pod;
    pod.kube_qos = KubeQos::kBurstable;
    CHECK(is_reclaimable_class(pod));
    for (const int priority : {7500, 5500, 3500}) {
      pod.priority = priority;
      CHECK_FALSE(is_reclaimable_class(pod));
    }
    pod.priority = 9500;
    CHECK(is_reclaimable_class(pod));
  }
}
