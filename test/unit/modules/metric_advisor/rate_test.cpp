#include "modules/metric_advisor/rate.hpp"

#include <doctest/doctest.h>

namespace koordlet {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr MilliCpu kCeiling{8000};

MonoTime at(milliseconds t) { return MonoTime{std::chrono::seconds{100}} + t; }

TEST_SUITE("metric_advisor/rate") {
  TEST_CASE("T1: cpuacct.usage 120956289000 -> 123456789000 in 1.003 s is 2.493 cores") {
    CpuRate rate;
    CHECK_FALSE(rate.update({at(milliseconds{0}), nanoseconds{120956289000}}, kCeiling));
    const auto cores = rate.update({at(milliseconds{1003}), nanoseconds{123456789000}}, kCeiling);
    REQUIRE(cores);
    CHECK(*cores == MilliCpu{2493});  // 2.4930209 cores, cut to whole milli-cores
  }
  TEST_CASE("T1: usage_usec 5000000 -> 5750000 in 1 s is 0.75 cores") {
    CpuRate rate;
    static_cast<void>(rate.update({at(milliseconds{0}), nanoseconds{5'000'000'000}}, kCeiling));
    CHECK(rate.update({at(milliseconds{1000}), nanoseconds{5'750'000'000}}, kCeiling) ==
          MilliCpu{750});
  }
  TEST_CASE("T2: a counter that went back gives no rate and is the new base") {
    CpuRate rate;
    static_cast<void>(rate.update({at(milliseconds{0}), nanoseconds{9'000'000}}, kCeiling));
    CHECK_FALSE(rate.update({at(milliseconds{1000}), nanoseconds{5'000'000}}, kCeiling));
    CHECK(rate.update({at(milliseconds{2000}), nanoseconds{505'000'000}}, kCeiling) ==
          MilliCpu{500});
  }
  TEST_CASE("time that does not move gives no rate") {
    CpuRate rate;
    static_cast<void>(rate.update({at(milliseconds{0}), nanoseconds{1}}, kCeiling));
    CHECK_FALSE(rate.update({at(milliseconds{0}), nanoseconds{2}}, kCeiling));
  }
  TEST_CASE("a rate that no machine can run is dropped") {
    CpuRate rate;
    static_cast<void>(rate.update({at(milliseconds{0}), nanoseconds{0}}, kCeiling));
    CHECK_FALSE(rate.update({at(milliseconds{1000}), nanoseconds{8'001'000'000}}, kCeiling));
    CHECK(rate.update({at(milliseconds{2000}), nanoseconds{16'001'000'000}}, kCeiling) == kCeiling);
  }
  TEST_CASE("T4: throttled ratio") {
    const auto ratio = [](std::uint64_t p0, std::uint64_t t0, std::uint64_t p1, std::uint64_t t1) {
      ThrottleRate rate;
      CHECK_FALSE(rate.update(p0, t0));
      return rate.update(p1, t1);
    };
    CHECK(ratio(1000, 40, 1010, 43) == Permille{300});
    CHECK(ratio(1000, 40, 1000, 40) == Permille{0});
    CHECK(ratio(100, 10, 150, 35) == Permille{500});
    // The original answers 0 after a reset; here a reset gives no sample at all (reference 1.3,
    // rule for C++).
    CHECK_FALSE(ratio(1000, 40, 5, 1));
  }
  TEST_CASE("more throttled periods than periods is no sample, and the new base") {
    ThrottleRate rate;
    CHECK_FALSE(rate.update(1000, 40));
    CHECK_FALSE(rate.update(1006, 75));  // 35 of 6: 583 %
    CHECK(rate.update(1016, 80) == Permille{500});
    CHECK_FALSE(rate.update(1016, 81));  // throttled while no period passed
    CHECK(rate.update(1020, 85) == Permille{1000});
  }
  TEST_CASE("huge counters do not overflow the share") {
    ThrottleRate rate;
    CHECK_FALSE(rate.update(0, 0));
    CHECK(rate.update(1ull << 62, 1ull << 61) == Permille{500});
  }
}

}  // namespace
}  // namespace koordlet
