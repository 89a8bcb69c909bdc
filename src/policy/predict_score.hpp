#pragma once

namespace koordlet::policy {

/// How forecasts compare with the peaks that came (reference floors 5.2). Sums, so that scores of
/// several series add up and old windows can fade.
struct Score {
  double windows = 0;     ///< with a peak above 0: the others have no ratio
  double violations = 0;  ///< forecast below the peak
  double shortfall = 0;   ///< sum of (peak - forecast) / peak over the violations
  double over = 0;        ///< sum of forecast / peak - 1 over all windows
  double within = 0;      ///< forecast within +-20 % of the peak
  double pinball = 0;     ///< sum of the pinball loss / peak
  double forecast_sum = 0, peak_sum = 0;

  /// `tau`: the share of peaks that the forecast is to cover. Ignored: a peak not above 0, a
  /// forecast below 0 or no number.
  void add(double forecast, double peak, double tau);
  void fade(double factor);  ///< all that was added so far counts for so much
  Score& operator+=(const Score& other);

  // Means; 0 while there is nothing to take them of.
  double violation_share() const;
  double mean_shortfall() const;  ///< of the violations
  double mean_over() const;
  double volume_over() const;  ///< sum of forecasts / sum of peaks - 1: idle hours count little
  double within_share() const;
  double mean_pinball() const;
  friend bool operator==(const Score&, const Score&) = default;
};

/// Pinball loss of a forecast of the `tau` quantile, as a share of the peak (> 0): tau (peak -
/// forecast) when it is too low, (1 - tau) (forecast - peak) when it is too high.
double pinball_loss(double forecast, double peak, double tau);

}  // namespace koordlet::policy
