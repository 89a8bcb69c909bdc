#include "policy/interference_micro.hpp"

#include <algorithm>
#include <cmath>

namespace koordlet::policy {
namespace {

constexpr double kCpiWeight = 0.7, kLlcWeight = 0.3;  // in M: reference metrics 8.2

}  // namespace

bool is_usable(const MicroSample& sample, const InterferenceConfig& c) {
  return sample.used >= c.min_micro_use && std::isfinite(sample.cpi) && sample.cpi > 0;
}

std::optional<double> usable_miss_ratio(const MicroSample& sample) {
  const auto& ratio = sample.llc_miss_ratio;
  if (!ratio || !(*ratio >= 0 && *ratio <= 1)) return std::nullopt;
  return ratio;
}

MicroScore micro_score(const std::vector<MicroSample>& samples,
                       const BaselineTable& baselines,
                       const std::string& owner_uid,
                       const std::string& cpu_model,
                       const InterferenceConfig& c) {
  MicroScore out;
  for (const auto& sample : samples) {
    if (!is_usable(sample, c)) continue;
    const auto at = baselines.find({owner_uid, sample.container, cpu_model});
    const auto z =
        at == baselines.end() ? std::nullopt : at->second.cpi.z(sample.cpi, c.mature_samples);
    if (!z) {
      out.young = true;
      continue;
    }
    const double cpi = c.cpi_z(*z);
    double score = cpi;
    if (const auto ratio = usable_miss_ratio(sample)) {
      // Without a baseline of its own the cache says nothing.
      if (const auto llc_z = at->second.llc.z(*ratio, c.mature_samples)) {
        // More misses without a higher CPI are a change of the work, not of the neighbours.
        score = kCpiWeight * cpi + kLlcWeight * std::min(c.llc_z(*llc_z), cpi);
        out.llc = true;
      }
    }
    out.score = std::max(out.score, score);
    out.worst_z = std::max(out.worst_z.value_or(*z), *z);
  }
  return out;
}

}  // namespace koordlet::policy
