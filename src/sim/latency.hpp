#pragma once

namespace koordlet::sim {

/// 99th percentile of an LS group's request latency, by how much CPU it lacks.
struct LatencyModel {
  double base_ms = 5;  ///< when it gets all it asks for
  /// How fast it grows with the missing share. The default makes the mission's case true: 5 ms when
  /// satisfied, 50 ms when 126 of 750 cores are missing: (50 / 5 - 1) / (126 / 750).
  double growth = 9.0 * 750 / 126;
};

/// base x (1 + growth x missing share), the share being (demand - given) / demand in 0..1. Nothing
/// is queued from one step to the next: what was not served is given up. No demand: base.
double latency_p99_ms(const LatencyModel& model, double demand, double given);

/// How much longer CPU-bound work takes: demand / given - 1, in percent. 0 without demand; 99900 at
/// most (a thousandth of the demand).
double slowdown_percent(double demand, double given);

}  // namespace koordlet::sim
