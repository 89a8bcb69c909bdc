#include <algorithm>
#include <cmath>

#include <boost/math/special_functions/beta.hpp>

#include "policy/series_math.hpp"

namespace koordlet::policy {
namespace {

constexpr double kMsPerHour = 3'600'000;

/// Sums about the means: squares of epochs and of bytes would leave no digits for the rest.
struct Line {
  double mean_x = 0, mean_y = 0, slope = 0, sxx = 0, syy = 0;
  double residual(double x, double y) const { return y - mean_y - slope * (x - mean_x); }
};

struct Residuals {
  double squares = 0;     ///< sum of squares
  double neighbours = 0;  ///< sum of products of neighbours
};

}  // namespace

double student_p(double t, double freedom) {
  if (std::isnan(t)) return 1;
  if (std::isinf(t)) return 0;
  // P(|T| > t) = I_x(freedom / 2, 1 / 2), x = freedom / (freedom + t^2).
  return boost::math::ibeta(freedom / 2, 0.5, freedom / (freedom + t * t));
}

std::optional<Trend> trend(const SeriesPoints& points, double level) {
  std::vector<double> x, y;
  for (const auto& p : points) {
    if (!std::isfinite(p.value)) continue;
    x.push_back(static_cast<double>(p.at_ms - points.front().at_ms) / kMsPerHour);
    y.push_back(p.value);
  }
  const auto n = static_cast<double>(x.size());
  if (x.size() < Trend::kLeast) return std::nullopt;
  Line line;
  for (std::size_t i = 0; i < x.size(); ++i) {
    line.mean_x += x[i] / n;
    line.mean_y += y[i] / n;
  }
  double sxy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double dx = x[i] - line.mean_x, dy = y[i] - line.mean_y;
    line.sxx += dx * dx;
    line.syy += dy * dy;
    sxy += dx * dy;
  }
  if (!(line.sxx > 0) || !std::isfinite(line.syy)) return std::nullopt;
  line.slope = sxy / line.sxx;
  Residuals rest;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double e = line.residual(x[i], y[i]);
    rest.squares += e * e;
    if (i > 0) rest.neighbours += e * line.residual(x[i - 1], y[i - 1]);
  }
  Trend out;
  out.points = x.size();
  out.slope_per_hour = line.slope;
  // A line without residuals: what is left is rounding, and its correlation means nothing.
  const bool exact = rest.squares <= line.syy * 1e-20;
  const double r = exact ? 0 : std::clamp(rest.neighbours / rest.squares, 0.0, 1.0);
  out.effective_points = n * (1 - r) / (1 + r);
  const double freedom = out.effective_points - 2;
  if (line.slope == 0 || freedom <= 0) return out;
  const double error = std::sqrt(rest.squares / freedom / line.sxx);
  out.p_value = exact ? 0 : student_p(line.slope / error, freedom);
  if (out.p_value < level)
    out.direction = line.slope > 0 ? Direction::kRising : Direction::kFalling;
  return out;
}

}  // namespace koordlet::policy
