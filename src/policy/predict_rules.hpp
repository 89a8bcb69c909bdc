#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "policy/predict_histogram.hpp"
#include "policy/predict_history.hpp"

namespace koordlet::policy {

/// Ways to guess the peak of the time to come from the past. What each one is too low or too high
/// by is learned per series (RatioHistogram), so none needs a margin of its own.
enum class Rule {
  kMeanHour,        ///< mean of the slots' peaks, older ones fading by half in 30 minutes
  kMaxHour,         ///< largest of the last hour
  kMaxSixHours,     ///< largest of the last six hours
  kMaxDay,          ///< largest of the last day
  kMaxWeek,         ///< largest daily peak of the last week, fading 5 % a day
  kBetween,         ///< geometric mean of the last hour's and the last day's largest
  kHistogram,       ///< 95th percentile of the decaying histogram
  kRollingP99,      ///< 99th percentile of the slots of the last ten hours
  kNSigma,          ///< mean + 5 standard deviations of the slots of the last ten hours
  kNSigmaOrP99,     ///< the larger of the two
  kBlockMaxima,     ///< extreme value rule over hourly peaks
  kSeasonal,        ///< the same time of the day before, half an hour on either side
  kSeasonalOrHour,  ///< the larger of that and the last hour's largest
  kTrend,           ///< least squares line over six hours, where it will be; not below kMeanHour
};
inline constexpr std::size_t kRules = 14;
std::string_view to_string(Rule r);  ///< "mean_hour", "max_hour", ...

/// One guess a rule; nullopt: it does not know (yet).
using RuleForecasts = std::array<std::optional<double>, kRules>;

/// Peak over the `horizon` slots after the newest one, by every rule. All nullopt below `kMinSlots`
/// known slots: a pod younger than an hour has no forecast.
inline constexpr int kMinSlots = 12;
RuleForecasts rule_forecasts(const PeakHistory& history,
                             const DecayingHistogram& histogram,
                             int horizon,
                             double tau);

/// Mean and sample standard deviation of the known slots among the newest `slots`.
struct Moments {
  int count = 0;
  double mean = 0, sigma = 0;  ///< sigma 0 below two values
};
Moments moments(const PeakHistory& history, int slots);

/// Level that the largest of `blocks` future blocks stays below with probability tau, if block
/// maxima are Gumbel distributed with this mean and standard deviation (method of moments): mu +
/// beta (ln blocks - ln(-ln tau)), beta = sigma sqrt(6) / pi, mu = mean - 0.5772 beta.
double gumbel_level(double mean, double sigma, double blocks, double tau);

/// Least squares line over the known slots among the newest `slots`; nullopt below kMinSlots.
struct PeakTrend {
  double level = 0;           ///< at the newest slot
  double slope_per_slot = 0;  ///< growth each slot
};
std::optional<PeakTrend> peak_trend(const PeakHistory& history, int slots);

/// The guess for a series that has not been wrong often enough to know its margin: the mean of the
/// block maxima's and the N-sigma rule, not below what was seen within the last hour. nullopt below
/// kMinSlots known slots.
std::optional<double> cold_forecast(const RuleForecasts& rules);

}  // namespace koordlet::policy
