#include <algorithm>
#include <cmath>

#include "policy/interference.hpp"

namespace koordlet::policy {
namespace {

constexpr double kDailyFactor = 0.9;
constexpr double kLeastSigma = 0.05;  // of the mean: a workload of no spread is not infinitely odd

}  // namespace

void Baseline::learn(double value, std::int64_t today) {
  if (!std::isfinite(value) || value < 0) return;
  if (samples > 0 && today > day) {
    // The mean stays; what it weighs against the new sample fades.
    const double fade = std::pow(kDailyFactor, static_cast<double>(today - day));
    weight *= fade;
    m2 *= fade;
  }
  day = samples == 0 ? today : std::max(day, today);
  weight += 1;
  const double delta = value - mean;
  mean += delta / weight;
  m2 += delta * (value - mean);
  ++samples;
}

double Baseline::sigma() const { return weight > 1 ? std::sqrt(std::max(0.0, m2 / weight)) : 0.0; }

std::optional<double> Baseline::z(double value, std::size_t mature) const {
  if (samples < mature || !(mean > 0) || !std::isfinite(value)) return std::nullopt;
  return (value - mean) / std::max(sigma(), kLeastSigma * mean);
}

void trim_baselines(BaselineTable& table, std::size_t max) {
  if (table.size() <= max) return;
  std::vector<BaselineTable::iterator> oldest;
  for (auto it = table.begin(); it != table.end(); ++it) oldest.push_back(it);
  std::stable_sort(oldest.begin(), oldest.end(), [](const auto& a, const auto& b) {
    return a->second.cpi.day < b->second.cpi.day;
  });
  oldest.resize(table.size() - max);
  for (const auto it : oldest) table.erase(it);
}

void learn(BaselineTable& baselines,
           const InterferenceWindow& window,
           const InterferenceDegree& degree,
           const std::string& owner_uid,
           const std::string& cpu_model,
           std::int64_t day,
           const InterferenceConfig& c) {
  const bool no_be = window.be_used && window.be_used->v == 0;
  const bool undisturbed = degree.degree && degree.cpu == 0 && degree.memory == 0 && degree.io == 0;
  if (!no_be && !undisturbed) return;
  for (const auto& sample : window.micro) {
    if (sample.used < c.min_micro_use || !std::isfinite(sample.cpi) || sample.cpi <= 0) continue;
    auto& baseline = baselines[{owner_uid, sample.container, cpu_model}];
    baseline.cpi.learn(sample.cpi, day);
    if (sample.llc_miss_ratio) baseline.llc.learn(*sample.llc_miss_ratio, day);
  }
}

}  // namespace koordlet::policy
