#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "policy/predict_calibration.hpp"
#include "policy/predict_histogram.hpp"
#include "policy/predict_history.hpp"
#include "policy/predict_rules.hpp"
#include "policy/predict_score.hpp"

namespace koordlet::policy {

struct ForecastConfig {
  std::chrono::seconds horizon{3600};  ///< one slot to one day
  std::chrono::seconds slot{300};      ///< 300 to 3600 s, a divisor of a day and of the horizon
  /// Share of the peaks that a forecast is to cover.
  double tau = 0.97;
  /// Errors of the past count half after so long: a week's rhythm is still seen.
  std::chrono::hours memory{7 * 24};
  /// Peaks and forecasts below it count as it: the least amount that matters.
  double resolution = 0.001;
  BucketScheme buckets = kCpuBuckets;
  std::chrono::seconds half_life{12 * 3600};
  friend bool operator==(const ForecastConfig&, const ForecastConfig&) = default;
};

/// What one rule says, before and after its margin.
struct RuleForecast {
  std::optional<double> raw;
  std::optional<double> widened;  ///< raw x factor; the cold forecast while there is no factor yet
};

struct Forecast {
  double peak = 0;
  Rule best = Rule::kBlockMaxima;  ///< the rule with the best own score
  bool cold = true;  ///< too few of its own forecasts have come true to know the margin
};

/// Forecasts the peak of one series over one horizon and learns from what came. Every rule of
/// predict_rules.hpp is asked; its raw guess is widened or narrowed by the quantile of its own past
/// ratios; the forecast is the median of the three rules with the smallest mean pinball loss. Only
/// forecasts whose horizon has ended count, so nothing of the future is used. One forecast a slot
/// is kept for the score. Memory is fixed by the configuration.
class Forecaster {
 public:
  explicit Forecaster(const ForecastConfig& config);

  Observed observe(PredictTime at, double value);
  /// Of the time that follows the newest observation. nullopt: less than an hour of data.
  std::optional<Forecast> forecast() const;
  std::array<RuleForecast, kRules> by_rule() const;
  std::optional<PeakTrend> line() const;  ///< over the last six hours

  const ForecastConfig& config() const { return config_; }
  const DecayingHistogram& histogram() const { return state_.histogram; }
  const PeakHistory& history() const { return state_.history; }
  const Score& score() const { return state_.score; }  ///< of forecast(), old windows fading
  std::size_t bytes() const;

  struct RuleState {
    RatioHistogram ratios;
    float loss = 0;    ///< fading sum of pinball losses of its widened forecasts
    float scored = 0;  ///< fading count of them
  };
  struct State {
    DecayingHistogram histogram;
    PeakHistory history;
    std::array<RuleState, kRules> rules;
    Score score;
    PredictTime since{0};  ///< first observation after the last cold start
  };
  const State& state() const { return state_; }
  /// Goes on from a saved state. Forecasts that were waiting for their time to come are not part of
  /// it.
  void restore(State state);

 private:
  struct Pending {
    std::int64_t slot = -1;  ///< made when this slot ended; -1 none
    std::array<float, kRules> raw{}, widened{};
    float peak = 0;
  };
  void close_slot();
  void mature(const Pending& made, double peak);
  std::optional<double> widen(std::size_t rule, double raw) const;
  std::optional<Forecast> choose(const RuleForecasts& raw) const;
  int horizon_slots() const;
  double floor(double v) const;

  ForecastConfig config_;
  double fade_;  ///< a slot
  State state_;
  std::vector<Pending> pending_;  ///< by slot modulo the horizon's slots
};

}  // namespace koordlet::policy
