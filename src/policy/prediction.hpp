#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

#include "base/clock.hpp"
#include "policy/predict_forecaster.hpp"

namespace koordlet::policy {

/// What is known of one series after a round. Cores or bytes.
struct SeriesPrediction {
  std::optional<Forecast> forecast;  ///< nullopt: less than an hour of data
  std::optional<PeakTrend> line;     ///< over the last six hours; its slope is of one slot
  Score score;                       ///< of its own forecasts that have come true
  /// Of the decaying histogram, what prodReclaimable goes by: p95 of CPU, p98 of memory. nullopt:
  /// nothing seen yet.
  std::optional<double> usual;
  std::chrono::seconds learned{0};  ///< first to newest observation
};

/// One model: a node, a class, the system or a pod.
struct Prediction {
  MonoTime at;  ///< of the newest value
  SeriesPrediction cpu, memory;
  std::size_t bytes = 0;  ///< of memory that the model takes
};

}  // namespace koordlet::policy
