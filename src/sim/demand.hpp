#pragma once

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

namespace koordlet::sim {

using std::chrono::milliseconds;

/// CPU that one pod would use if nothing held it back, in cores, over the time of a simulation.
/// Pure: the same time gives the same value.
struct Demand {
  enum class Curve { kConstant, kSteps, kSine, kDay };
  Curve curve = Curve::kConstant;
  double value = 0;  ///< constant
  /// Steps: from each time on, so many cores. Times rise; before the first: its value.
  std::vector<std::pair<milliseconds, double>> steps;
  double mean = 0, amplitude = 0;  ///< sine: mean + amplitude sin(2 pi (t - offset) / period)
  /// Day: low + (high - low) x ((1 + cos(2 pi (t - peak_at) / period)) / 2)^2: broad nights, one
  /// peak.
  double low = 0, high = 0;
  milliseconds peak_at{0};
  milliseconds offset{0};
  milliseconds period{0};  ///< sine and day, above 0
  /// Added on top: uniform in -noise..noise, a new value each noise_hold, the same for every pod of
  /// the group (independent noise of many pods would average out).
  double noise = 0;
  milliseconds noise_hold{1000};
  std::uint64_t seed = 1;
};

/// At time `t` of the simulation; never below 0.
double demand_at(const Demand& demand, milliseconds t);

/// Uniform in -1..1: a hash of seed and index (splitmix64), so that any moment can be asked for on
/// its own and every platform gives the same.
double noise_at(std::uint64_t seed, std::uint64_t index);

}  // namespace koordlet::sim
