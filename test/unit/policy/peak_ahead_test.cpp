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
}

}  // namespace
