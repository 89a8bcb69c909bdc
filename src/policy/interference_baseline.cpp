#include <algorithm>
#include <cmath>

#include "policy/interference.hpp"
#include "policy/interference_micro.hpp"

namespace koordlet::policy {
namespace {

constexpr double kDailyFactor = 0.9;
constexpr double kLeastSigma = 0.05;  // of the mean: a workload of no spread is not infinitely odd

std::int64_t newest_day(const MicroBaseline& b) { return std::max(b.cpi.day, b.llc.day); }

bool is_missing(const InterferenceDegree& d, std::string_view signal) {
  return std::find(d.missing.begin(), d.missing.end(), signal) != d.missing.end();
}

/// Nothing waits, for CPU, memory or IO, as far as it is known; something of the CPU has to be.
bool is_undisturbed(const InterferenceDegree& d) {
  if (!d.degree || (is_missing(d, "run queue") && is_missing(d, "cpu psi"))) return false;
  return d.cpu == 0 && d.memory == 0 && d.io == 0;
}

}  // namespace

void Baseline::learn(double value, std::int64_t today) {
  if (!std::isfinite(value) || value < 0) return;
  Baseline next = *this;
  if (samples > 0 && today > day) {
    const double days = static_cast<double>(today) - static_cast<double>(day);
    const double fade = std::pow(kDailyFactor, days);
    next.weight *= fade;
    next.m2 *= fade;
  }
  next.day = samples == 0 ? today : std::max(day, today);
  next.weight += 1;
  const double delta = value - mean;
  next.mean += delta / next.weight;
  next.m2 += delta * (value - next.mean);
  ++next.samples;
  // A value so large that its square is none would make every later z unknown.
  if (std::isfinite(next.mean) && std::isfinite(next.m2)) *this = next;
}

double Baseline::sigma() const { return weight > 0 ? std::sqrt(std::max(0.0, m2 / weight)) : 0.0; }

std::optional<double> Baseline::z(double value, std::size_t mature) const {
  if (samples < mature || !(mean > 0) || !std::isfinite(value)) return std::nullopt;
  const double out = (value - mean) / std::max(sigma(), kLeastSigma * mean);
  if (!std::isfinite(out)) return std::nullopt;
  return out;
}

void trim_baselines(BaselineTable& table, std::size_t max) {
  if (table.size() <= max) return;
  std::vector<BaselineTable::iterator> oldest;
  for (auto it = table.begin(); it != table.end(); ++it) oldest.push_back(it);
  std::stable_sort(oldest.begin(), oldest.end(), [](const auto& a, const auto& b) {
    return newest_day(a->second) < newest_day(b->second);
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
  if (owner_uid.empty() || (!no_be && !is_undisturbed(degree))) return;
  for (const auto& sample : window.micro) {
    if (sample.container.empty() || !is_usable(sample, c)) continue;
    auto& baseline = baselines[{owner_uid, sample.container, cpu_model}];
    baseline.cpi.learn(sample.cpi, day);
    if (const auto ratio = usable_miss_ratio(sample)) baseline.llc.learn(*ratio, day);
  }
}

}  // namespace koordlet::policy
