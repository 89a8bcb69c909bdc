#include <algorithm>
#include <set>

#include "policy/interference.hpp"

namespace koordlet::policy {
namespace {

/// A minute of windows: less and two pods that happened to run together are blamed.
constexpr std::size_t kLeastWindows = 6;

std::int64_t use_of(const VictimWindow& w, const std::string& suspect) {
  const auto at = w.used.find(suspect);
  return at == w.used.end() ? 0 : std::max<std::int64_t>(0, at->second.v);
}

}  // namespace

std::optional<double> antagonist_score(const std::deque<VictimWindow>& windows,
                                       const std::string& suspect) {
  double sum = 0;
  for (const auto& w : windows) {
    if (w.normal > 0) sum += static_cast<double>(use_of(w, suspect));
  }
  if (!(sum > 0)) return std::nullopt;
  double score = 0;
  for (const auto& w : windows) {
    if (!(w.normal > 0)) continue;
    const double u = static_cast<double>(use_of(w, suspect)) / sum;
    if (w.pain > w.normal) {
      score += u * (1 - w.normal / w.pain);
    } else if (w.pain < w.normal) {
      score += u * (std::max(0.0, w.pain) / w.normal - 1);
    }
  }
  return std::clamp(score, -1.0, 1.0);
}

std::vector<Culprit> rank_culprits(const std::deque<VictimWindow>& windows,
                                   const InterferenceConfig& config) {
  std::vector<Culprit> out;
  if (windows.size() < kLeastWindows) return out;
  std::set<std::string> suspects;
  for (const auto& w : windows) {
    for (const auto& [uid, used] : w.used) suspects.insert(uid);
  }
  for (const auto& uid : suspects) {
    const auto score = antagonist_score(windows, uid);
    if (!score || *score < config.suspect_score) continue;
    std::int64_t sum = 0;
    for (const auto& w : windows) sum += use_of(w, uid);
    out.push_back(
        {uid, *score, MilliCpu{sum / static_cast<std::int64_t>(windows.size())}, windows.size()});
  }
  std::sort(out.begin(), out.end(), [](const Culprit& a, const Culprit& b) {
    if (a.score != b.score) return a.score > b.score;
    if (a.used != b.used) return a.used > b.used;
    return a.uid < b.uid;
  });
  return out;
}

}  // namespace koordlet::policy
