#include "policy/predict_forecaster.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace koordlet::policy {
namespace {

constexpr float kNone = -1;
// Windows that do not overlap and must have come true before a rule's own margin is used.
constexpr double kWarmWindows = 2;
// A window counts when so much of it was seen.
constexpr double kSeenShare = 0.9;
// A rule may be chosen when it was scored for so much of the longest scored one's time.
constexpr float kScoredShare = 0.5F;
// Below this share of a known day the factors, learned over whole days, are not trusted alone.
constexpr double kDayShare = 0.75;

float stored(std::optional<double> v) { return v ? static_cast<float>(*v) : kNone; }

}  // namespace

Forecaster::Forecaster(const ForecastConfig& config)
    : config_{config},
      fade_{std::exp2(-static_cast<double>(config.slot.count()) /
                      static_cast<double>(std::chrono::seconds{config.memory}.count()))},
      state_{DecayingHistogram{config.buckets, config.half_life},
             PeakHistory{config.slot},
             {},
             {},
             {}},
      pending_(static_cast<std::size_t>(config.horizon / config.slot)) {}

int Forecaster::horizon_slots() const { return static_cast<int>(pending_.size()); }

double Forecaster::floor(double v) const { return std::max(v, config_.resolution); }

std::size_t Forecaster::bytes() const {
  return sizeof *this + state_.histogram.bytes() - sizeof state_.histogram +
         pending_.capacity() * sizeof(Pending);
}

Observed Forecaster::observe(PredictTime at, double value) {
  const Observed out = state_.history.judge(at, value);
  if (out == Observed::kRefused || out == Observed::kLate) return out;
  if (out == Observed::kRestarted) {
    state_ = State{DecayingHistogram{config_.buckets, config_.half_life},
                   PeakHistory{config_.slot},
                   {},
                   {},
                   {}};
    std::fill(pending_.begin(), pending_.end(), Pending{});
  }
  if (!state_.history.started()) state_.since = at;
  // Closed before the value is taken: a forecast must not know what came after its time.
  if (state_.history.ends_slot(at)) close_slot();
  state_.history.observe(at, value);
  state_.histogram.add(at, value);
  return out;
}

/// The newest slot has ended: what was forecast one horizon before has come true, and the forecast
/// of this moment waits for its time. Windows that end within a gap are not scored.
void Forecaster::close_slot() {
  const auto& history = state_.history;
  const std::int64_t slot = history.newest();
  const int n = horizon_slots();
  Pending& made = pending_[static_cast<std::size_t>(slot % n)];
  if (made.slot >= 0 && made.slot == slot - n && history.known(0, n - 1) >= kSeenShare * n) {
    if (const auto peak = history.peak(0, n - 1)) mature(made, floor(*peak));
  }
  made = Pending{};
  const auto raw = rule_forecasts(history, state_.histogram, n, config_.tau);
  const auto chosen = choose(raw);
  if (!chosen) return;
  made.slot = slot;
  made.peak = static_cast<float>(chosen->peak);
  for (std::size_t r = 0; r < kRules; ++r) {
    made.raw[r] = stored(raw[r]);
    made.widened[r] = raw[r] ? stored(widen(r, *raw[r])) : kNone;
  }
}

void Forecaster::mature(const Pending& made, double peak) {
  for (std::size_t r = 0; r < kRules; ++r) {
    auto& rule = state_.rules[r];
    rule.loss *= static_cast<float>(fade_);
    rule.scored *= static_cast<float>(fade_);
    if (made.raw[r] == kNone) continue;
    rule.ratios.add(peak, floor(made.raw[r]), fade_);
    if (made.widened[r] == kNone) continue;
    rule.loss += static_cast<float>(pinball_loss(made.widened[r], peak, config_.tau));
    rule.scored += 1;
  }
  state_.score.fade(fade_);
  state_.score.add(made.peak, peak, config_.tau);
}

/// nullopt: too few of its forecasts have come true.
std::optional<double> Forecaster::widen(std::size_t rule, double raw) const {
  const auto& ratios = state_.rules[rule].ratios;
  const double windows = ratios.total() / horizon_slots();
  if (windows < kWarmWindows) return std::nullopt;
  const auto factor = ratios.factor(config_.tau, windows);
  return factor ? std::optional<double>{floor(raw) * *factor} : std::nullopt;
}

std::optional<Forecast> Forecaster::choose(const RuleForecasts& raw) const {
  const auto cold = cold_forecast(raw);
  if (!cold) return std::nullopt;
  float longest = 0;
  for (const auto& r : state_.rules) longest = std::max(longest, r.scored);
  struct Entry {
    double loss, value;
    std::size_t rule;
  };
  std::array<Entry, 3> best{};
  std::size_t found = 0;
  for (std::size_t r = 0; r < kRules; ++r) {
    const auto& rule = state_.rules[r];
    if (!raw[r] || rule.scored <= 0 || rule.scored < kScoredShare * longest) continue;
    const auto value = widen(r, *raw[r]);
    if (!value) continue;
    Entry entry{rule.loss / rule.scored, *value, r};
    for (std::size_t i = 0; i < best.size(); ++i) {
      if (i >= found) {
        best[found++] = entry;
        break;
      }
      if (entry.loss < best[i].loss) std::swap(entry, best[i]);
    }
  }
  if (found == 0) return Forecast{floor(*cold), Rule::kBlockMaxima, true};
  Forecast out{0, static_cast<Rule>(best[0].rule), false};
  const double a = best[0].value, b = best[std::min<std::size_t>(1, found - 1)].value;
  out.peak = found < 3 ? std::max(a, b)
                       : std::max(std::min(a, b), std::min(std::max(a, b), best[2].value));
  const auto& h = state_.history;
  if (h.known(0, h.slots_per_day() - 1) < kDayShare * h.slots_per_day()) {
    out.peak = std::max(out.peak, floor(*cold));
    out.cold = true;
  }
  return out;
}

std::optional<Forecast> Forecaster::forecast() const {
  return choose(rule_forecasts(state_.history, state_.histogram, horizon_slots(), config_.tau));
}

std::array<RuleForecast, kRules> Forecaster::by_rule() const {
  const auto raw = rule_forecasts(state_.history, state_.histogram, horizon_slots(), config_.tau);
  const auto cold = cold_forecast(raw);
  std::array<RuleForecast, kRules> out;
  for (std::size_t r = 0; r < kRules; ++r) {
    out[r].raw = raw[r];
    if (!raw[r]) continue;
    const auto widened = widen(r, *raw[r]);
    out[r].widened = widened ? widened : cold;
  }
  return out;
}

std::optional<PeakTrend> Forecaster::line() const {
  return peak_trend(state_.history, static_cast<int>(std::chrono::hours{6} / config_.slot));
}

void Forecaster::restore(State state) {
  state_ = std::move(state);
  std::fill(pending_.begin(), pending_.end(), Pending{});
}

}  // namespace koordlet::policy
