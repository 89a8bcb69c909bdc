#include "sim/demand.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace koordlet::sim {
namespace {

double turns(milliseconds t, milliseconds from, milliseconds period) {
  return 2 * std::numbers::pi * static_cast<double>((t - from).count()) /
         static_cast<double>(period.count());
}

double step_at(const Demand& d, milliseconds t) {
  double out = d.steps.empty() ? 0 : d.steps.front().second;
  for (const auto& [from, value] : d.steps) {
    if (from > t) break;
    out = value;
  }
  return out;
}

double plain(const Demand& d, milliseconds t) {
  switch (d.curve) {
    case Demand::Curve::kConstant:
      return d.value;
    case Demand::Curve::kSteps:
      return step_at(d, t);
    case Demand::Curve::kSine:
      return d.mean + d.amplitude * std::sin(turns(t, d.offset, d.period));
    case Demand::Curve::kDay: {
      const double share = (1 + std::cos(turns(t, d.peak_at, d.period))) / 2;
      return d.low + (d.high - d.low) * share * share;
    }
  }
  return 0;
}

}  // namespace

double noise_at(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = seed * 0x9E3779B97F4A7C15ull + (index + 1) * 0xD1B54A32D192ED03ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  z ^= z >> 31;
  return static_cast<double>(z >> 11) * 0x1.0p-52 - 1;
}

double demand_at(const Demand& demand, milliseconds t) {
  double out = plain(demand, t);
  if (demand.noise > 0) {
    const auto index = static_cast<std::uint64_t>(t / demand.noise_hold);
    out += demand.noise * noise_at(demand.seed, index);
  }
  return std::max(out, 0.0);
}

}  // namespace koordlet::sim
