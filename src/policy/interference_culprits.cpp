#include <algorithm>
#include <cmath>
#include <set>

#include "policy/interference.hpp"

namespace koordlet::policy {
namespace {

/// A window in which the victim was measured and has a normal to hold it against.
bool is_usable(const VictimWindow& w) {
  return std::isfinite(w.normal) && w.normal > 0 && std::isfinite(w.pain) && w.pain >= 0;
}

double use_of(const VictimWindow& w, const std::string& suspect) {
  const auto at = w.used.find(suspect);
  return at == w.used.end() ? 0 : static_cast<double>(std::max<std::int64_t>(0, at->second.v));
}

/// How far the victim was from normal: above 0 when it suffered, within -1..1.
double strain(const VictimWindow& w) {
  if (w.pain > w.normal) return 1 - w.normal / w.pain;
  return w.pain / w.normal - 1;
}

/// Windows in which both the victim and the suspect were measured, and the mean use in them.
struct Acquaintance {
  std::size_t windows = 0;
  double use = 0;
};
Acquaintance acquaintance(const std::deque<VictimWindow>& windows, const std::string& suspect) {
  Acquaintance out;
  for (const auto& w : windows) {
    if (!is_usable(w) || !w.used.contains(suspect)) continue;
    ++out.windows;
    out.use += use_of(w, suspect);
  }
  if (out.windows > 0) out.use /= static_cast<double>(out.windows);
  return out;
}

}  // namespace

std::optional<double> antagonist_score(const std::deque<VictimWindow>& windows,
                                       const std::string& suspect) {
  double sum = 0, score = 0;
  for (const auto& w : windows) {
    if (!is_usable(w)) continue;
    const double use = use_of(w, suspect);
    sum += use;
    score += use * strain(w);
  }
  if (!(sum > 0)) return std::nullopt;
  return std::clamp(score / sum, -1.0, 1.0);
}

std::vector<Culprit> rank_culprits(const std::deque<VictimWindow>& windows,
                                   const InterferenceConfig& config) {
  std::set<std::string> suspects;
  for (const auto& w : windows) {
    for (const auto& [uid, used] : w.used) suspects.insert(uid);
  }
  std::vector<Culprit> out;
  for (const auto& uid : suspects) {
    const auto known = acquaintance(windows, uid);
    const MilliCpu used{std::llround(known.use)};
    // Shares of its own use hide how much that is: next to nothing hurts nobody.
    if (known.windows < config.min_culprit_windows || used < config.min_suspect_use) continue;
    const auto score = antagonist_score(windows, uid);
    if (!score || *score < config.suspect_score) continue;
    out.push_back({uid, *score, used, known.windows});
  }
  std::sort(out.begin(), out.end(), [](const Culprit& a, const Culprit& b) {
    if (a.score != b.score) return a.score > b.score;
    if (a.used != b.used) return a.used > b.used;
    return a.uid < b.uid;
  });
  return out;
}

}  // namespace koordlet::policy
