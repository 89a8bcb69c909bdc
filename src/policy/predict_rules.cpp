#include "policy/predict_rules.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace koordlet::policy {
namespace {

constexpr double kSigmas = 5;            // simulation of "Take it to the limit" (EuroSys 2021)
constexpr double kWeekFade = 0.95;       // a day
constexpr double kHalfLifeMinutes = 30;  // of kMeanHour
constexpr double kTrendReachHours = 3;   // a line is not believed further than half its length

std::size_t index(Rule r) { return static_cast<std::size_t>(r); }

int slots_of(const PeakHistory& h, std::chrono::minutes span) {
  return std::max(1, static_cast<int>(span / h.slot()));
}

std::optional<double> fading_mean(const PeakHistory& h) {
  const double factor = std::exp2(-std::chrono::duration<double, std::ratio<60>>(h.slot()).count() /
                                  kHalfLifeMinutes);
  double sum = 0, total = 0, weight = 1;
  for (int ago = 0; ago < slots_of(h, std::chrono::hours{4}); ++ago, weight *= factor) {
    const auto v = h.peak(ago);
    if (!v) continue;
    sum += weight * *v;
    total += weight;
  }
  return total > 0 ? std::optional<double>{sum / total} : std::nullopt;
}

/// Nearest rank.
std::optional<double> percentile(const PeakHistory& h, int slots, double p) {
  std::array<float, PeakHistory::kMostSlots> values{};
  std::size_t n = 0;
  for (int ago = 0; ago < std::min(slots, h.slots_per_day()); ++ago)
    if (const auto v = h.peak(ago)) values[n++] = static_cast<float>(*v);
  if (n == 0) return std::nullopt;
  const auto rank = static_cast<std::size_t>(std::ceil(p * static_cast<double>(n)));
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(rank, 1) - 1);
  std::nth_element(values.begin(), at, values.begin() + static_cast<std::ptrdiff_t>(n));
  return *at;
}

/// Hours with at least half of their slots known; at least four of them.
std::optional<double> block_maxima(const PeakHistory& h, int horizon, double tau) {
  const int block = slots_of(h, std::chrono::hours{1});
  double n = 0, sum = 0, squares = 0;
  for (int from = 0; from + block <= h.slots_per_day(); from += block) {
    if (2 * h.known(from, from + block - 1) < block) continue;
    const double v = *h.peak(from, from + block - 1);
    n += 1;
    sum += v;
    squares += v * v;
  }
  if (n < 4) return std::nullopt;
  const double variance = std::max(0.0, (squares - sum * sum / n) / (n - 1));
  return gumbel_level(sum / n, std::sqrt(variance), static_cast<double>(horizon) / block, tau);
}

/// The slots that lay one day before the horizon's, half an hour on either side. The ring reaches
/// back one day, so what lies before it is left out.
std::optional<double> seasonal(const PeakHistory& h, int horizon) {
  const int day = h.slots_per_day(), side = slots_of(h, std::chrono::minutes{30});
  const int from = std::max(0, day - 1 - horizon - side), to = day - 1;
  if (2 * h.known(from, to) < to - from + 1) return std::nullopt;
  if (h.known(day - 2 * side, to) == 0) return std::nullopt;  // no day is there yet
  return h.peak(from, to);
}

std::optional<double> larger(std::optional<double> a, std::optional<double> b) {
  if (!a || !b) return std::nullopt;
  return std::max(*a, *b);
}

}  // namespace

std::string_view to_string(Rule r) {
  constexpr std::array<std::string_view, kRules> kNames{"mean_hour",
                                                        "max_hour",
                                                        "max_6h",
                                                        "max_day",
                                                        "max_week",
                                                        "between",
                                                        "histogram_p95",
                                                        "rolling_p99",
                                                        "n_sigma",
                                                        "n_sigma_or_p99",
                                                        "block_maxima",
                                                        "seasonal",
                                                        "seasonal_or_hour",
                                                        "trend"};
  return kNames[index(r)];
}

double gumbel_level(double mean, double sigma, double blocks, double tau) {
  const double beta = sigma * std::sqrt(6.0) / std::numbers::pi;
  const double mu = mean - std::numbers::egamma * beta;
  return mu + beta * (std::log(std::max(1.0, blocks)) - std::log(-std::log(tau)));
}

Moments moments(const PeakHistory& h, int slots) {
  Moments out;
  double m2 = 0;
  for (int ago = 0; ago < std::min(slots, h.slots_per_day()); ++ago) {
    const auto v = h.peak(ago);
    if (!v) continue;
    ++out.count;
    const double delta = *v - out.mean;
    out.mean += delta / out.count;
    m2 += delta * (*v - out.mean);
  }
  if (out.count > 1) out.sigma = std::sqrt(m2 / (out.count - 1));
  return out;
}

std::optional<PeakTrend> peak_trend(const PeakHistory& h, int slots) {
  double n = 0, x_sum = 0, y_sum = 0, xx = 0, xy = 0;
  for (int ago = 0; ago < std::min(slots, h.slots_per_day()); ++ago) {
    const auto v = h.peak(ago);
    if (!v) continue;
    n += 1;
    x_sum -= ago;
    y_sum += *v;
    xx += static_cast<double>(ago) * ago;
    xy -= ago * *v;
  }
  const double spread = n * xx - x_sum * x_sum;
  if (n < kMinSlots || spread <= 0) return std::nullopt;
  PeakTrend out;
  out.slope_per_slot = (n * xy - x_sum * y_sum) / spread;
  out.level = (y_sum - out.slope_per_slot * x_sum) / n;
  return out;
}

RuleForecasts rule_forecasts(const PeakHistory& h,
                             const DecayingHistogram& histogram,
                             int horizon,
                             double tau) {
  RuleForecasts out;
  if (h.known(0, h.slots_per_day() - 1) < kMinSlots) return out;
  const int hour = slots_of(h, std::chrono::hours{1}),
            ten_hours = slots_of(h, std::chrono::hours{10});
  const auto set = [&out](Rule r, std::optional<double> v) { out[index(r)] = v; };
  const auto max_hour = h.peak(0, hour - 1), max_day = h.peak(0, h.slots_per_day() - 1);
  set(Rule::kMeanHour, fading_mean(h));
  set(Rule::kMaxHour, max_hour);
  set(Rule::kMaxSixHours, h.peak(0, 6 * hour - 1));
  set(Rule::kMaxDay, max_day);
  set(Rule::kMaxWeek, h.fading_peak(kWeekFade));
  if (max_hour && max_day) set(Rule::kBetween, std::sqrt(*max_hour * *max_day));
  if (!histogram.empty()) set(Rule::kHistogram, histogram.percentile(0.95));
  const auto p99 = percentile(h, ten_hours, 0.99);
  const auto m = moments(h, ten_hours);
  std::optional<double> n_sigma;
  if (m.count >= kMinSlots) n_sigma = m.mean + kSigmas * m.sigma;
  set(Rule::kRollingP99, p99);
  set(Rule::kNSigma, n_sigma);
  set(Rule::kNSigmaOrP99, larger(n_sigma, p99));
  set(Rule::kBlockMaxima, block_maxima(h, horizon, tau));
  const auto yesterday = seasonal(h, horizon);
  set(Rule::kSeasonal, yesterday);
  set(Rule::kSeasonalOrHour, larger(yesterday, max_hour));
  if (const auto line = peak_trend(h, 6 * hour)) {
    const double reach = std::min<double>(horizon, kTrendReachHours * hour);
    const double ahead = line->level + std::max(0.0, line->slope_per_slot * reach);
    set(Rule::kTrend, larger(ahead, out[index(Rule::kMeanHour)]));
  }
  return out;
}

std::optional<double> cold_forecast(const RuleForecasts& rules) {
  const auto maxima = rules[index(Rule::kBlockMaxima)], sigma = rules[index(Rule::kNSigma)];
  const auto seen = rules[index(Rule::kMaxHour)];
  std::optional<double> out = sigma;
  if (maxima && sigma) out = (*maxima + *sigma) / 2;
  if (maxima && !sigma) out = maxima;
  if (out && seen) out = std::max(*out, *seen);
  return out;
}

}  // namespace koordlet::policy
