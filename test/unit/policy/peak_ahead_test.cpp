#include "policy/peak_ahead.hpp"

#include <doctest/doctest.h>

using namespace koordlet;
using namespace koordlet::policy;

namespace {

Prediction node(double cores, double bytes) {
  Prediction out;
  out.cpu.forecast = Forecast{cores, Rule::kMaxDay, false};
  out.memory.forecast = Forecast{bytes, Rule::kMaxDay, false};
  return out;
}

constexpr PeakLimits kLimits{{10'000}, {1000}, 80};
constexpr std::chrono::seconds kAfter{120};

TEST_SUITE("policy/peak ahead") {
  TEST_CASE("a forecast at the threshold is one, below it is none") {
    CHECK(peak_ahead(node(7.9, 799), kLimits).empty());
    CHECK(peak_ahead(node(8, 1), kLimits) == "a CPU peak of 80 % is forecast, threshold 80 %");
    CHECK(peak_ahead(node(1, 900), kLimits) == "a memory peak of 90 % is forecast, threshold 80 %");
    CHECK(peak_ahead(node(9, 900), kLimits) ==
          "a CPU peak of 90 % is forecast, threshold 80 %; a memory peak of 90 % is forecast, "
          "threshold 80 %");
  }
  TEST_CASE("cold forecasts, none and an unknown node warn of nothing") {
    auto cold = node(9, 900);
    cold.cpu.forecast->cold = cold.memory.forecast->cold = true;
    CHECK(peak_ahead(cold, kLimits).empty());
    CHECK(peak_ahead(Prediction{}, kLimits).empty());
    CHECK(peak_ahead(node(9, 900), PeakLimits{{}, {}, 80}).empty());
  }
  TEST_CASE("a warning begins and ends once each has lasted, and keeps the newest words") {
    PeakWatch w;
    const auto look = [&](const std::string& ahead, int second) {
      w = watch_peak(std::move(w), ahead, MonoTime{std::chrono::seconds{second}}, kAfter);
      return w.warning;
    };
    CHECK(look("peak of 81 %", 0).empty());
    CHECK_FALSE(w.lasting());
    CHECK(look("peak of 82 %", 119).empty());
    CHECK_FALSE(w.changed);
    CHECK(look("peak of 83 %", 120) == "peak of 83 %");
    CHECK(w.changed);
    CHECK(look("peak of 84 %", 180) == "peak of 84 %");
    CHECK_FALSE(w.changed);
    CHECK(look("", 240) == "peak of 84 %");  // gone for one round
    CHECK(look("peak of 85 %", 300) == "peak of 85 %");
    CHECK(look("", 360) == "peak of 85 %");
    CHECK(look("", 479) == "peak of 85 %");
    CHECK(look("", 480).empty());
    CHECK(w.changed);
    CHECK(w.lasting() == std::optional{false});
  }
  TEST_CASE("a start without a peak: nothing is said before that has lasted") {
    PeakWatch w;
    w = watch_peak(w, "", MonoTime{std::chrono::seconds{0}}, kAfter);
    CHECK_FALSE(w.lasting());
    w = watch_peak(w, "", MonoTime{std::chrono::seconds{120}}, kAfter);
    CHECK(w.lasting() == std::optional{false});
    CHECK_FALSE(w.changed);  // no warning of this run ends
  }
}

}  // namespace
