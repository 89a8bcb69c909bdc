#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

/// Arithmetic on the points of one series. Pure; points come in the order of time. A value that is
/// not finite is no point. "Not enough samples" is nullopt, never zero.
namespace koordlet::policy {

struct SeriesPoint {
  std::int64_t at_ms = 0;
  double value = 0;
};
using SeriesPoints = std::vector<SeriesPoint>;

/// Growth of a counter a second: rises of neighbours over the time between them. A pair that falls
/// is a reset of the counter and counts neither as growth nor as time. Takes points one by one, so
/// that a long window needs no memory.
class RateSum {
 public:
  static constexpr std::size_t kLeast = 2;  ///< points
  void add(SeriesPoint p);
  /// nullopt: fewer than 2 points, or none of them behind another without a reset in between.
  std::optional<double> per_second() const;

 private:
  std::optional<SeriesPoint> last_;
  double growth_ = 0;
  std::int64_t time_ms_ = 0;
};
std::optional<double> rate_per_second(const SeriesPoints& points);

enum class Direction { kFlat, kRising, kFalling };
std::string_view to_string(Direction direction);  ///< "flat", "rising", "falling"

/// Least-squares line through the points.
struct Trend {
  static constexpr std::size_t kLeast = 3;  ///< points: a line through two has no error to judge by
  static constexpr double kLevel = 0.05;    ///< two-sided; at or above it the slope is chance
  Direction direction = Direction::kFlat;
  double slope_per_hour = 0;
  double p_value = 1;  ///< chance of such a slope in a series without one
  std::size_t points = 0;
  double effective_points = 0;  ///< independent samples the points are worth
};

/// Student's t of the slope against `level`. Neighbouring samples of a load resemble each other:
/// residuals with a lag-1 correlation r > 0 count as n (1 - r) / (1 + r) independent ones, or every
/// slow swing would be a trend. nullopt: fewer than 3 points, or all at one time.
std::optional<Trend> trend(const SeriesPoints& points, double level = Trend::kLevel);

/// Two-sided p-value of Student's t with `freedom` degrees of freedom (above 0).
double student_p(double t, double freedom);

/// Points for trend() in bounded memory: beyond kMost, neighbours are averaged two by two.
class TrendPoints {
 public:
  static constexpr std::size_t kMost = 4096;
  void add(SeriesPoint p);
  const SeriesPoints& points() const { return points_; }

 private:
  void halve();

  SeriesPoints points_;
  std::size_t group_ = 1;    ///< points a kept one stands for
  std::size_t pending_ = 0;  ///< of the group that fills up
  double first_ms_ = 0, sum_ms_ = 0, sum_ = 0;
};

}  // namespace koordlet::policy
