#include "policy/predict_score.hpp"

#include <cmath>
#include <initializer_list>

namespace koordlet::policy {
namespace {

constexpr double kNear = 0.2;

double mean(double sum, double count) { return count > 0 ? sum / count : 0; }

}  // namespace

double pinball_loss(double forecast, double peak, double tau) {
  return forecast < peak ? tau * (peak - forecast) / peak : (1 - tau) * (forecast - peak) / peak;
}

void Score::add(double f, double peak, double tau) {
  if (!std::isfinite(f) || f < 0 || !std::isfinite(peak) || peak <= 0) return;
  windows += 1;
  over += f / peak - 1;
  pinball += pinball_loss(f, peak, tau);
  forecast_sum += f;
  peak_sum += peak;
  if (std::abs(f - peak) <= kNear * peak) within += 1;
  if (f < peak) {
    violations += 1;
    shortfall += (peak - f) / peak;
  }
}

void Score::fade(double factor) {
  for (double* v :
       {&windows, &violations, &shortfall, &over, &within, &pinball, &forecast_sum, &peak_sum})
    *v *= factor;
}

Score& Score::operator+=(const Score& o) {
  windows += o.windows;
  violations += o.violations;
  shortfall += o.shortfall;
  over += o.over;
  within += o.within;
  pinball += o.pinball;
  forecast_sum += o.forecast_sum;
  peak_sum += o.peak_sum;
  return *this;
}

double Score::violation_share() const { return mean(violations, windows); }
double Score::mean_shortfall() const { return mean(shortfall, violations); }
double Score::mean_over() const { return mean(over, windows); }
double Score::volume_over() const { return peak_sum > 0 ? forecast_sum / peak_sum - 1 : 0; }
double Score::within_share() const { return mean(within, windows); }
double Score::mean_pinball() const { return mean(pinball, windows); }

}  // namespace koordlet::policy
