#include "sim/cpu_share.hpp"

#include <algorithm>
#include <numeric>

namespace koordlet::sim {

std::vector<double> fill(double amount,
                         const std::vector<double>& wants,
                         const std::vector<double>& weights) {
  std::vector<std::size_t> order(wants.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // Who wants least for its weight is satisfied first; its rest goes to all that follow.
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return wants[a] * weights[b] < wants[b] * weights[a];
  });
  double left = std::max(amount, 0.0);
  double weight = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<double> out(wants.size(), 0);
  for (const auto i : order) {
    const double share = weight > 0 ? left * (weights[i] / weight) : left;
    out[i] = std::min({wants[i], share, left});
    left -= out[i];
    weight -= weights[i];
  }
  return out;
}

void share_cpu(std::vector<ShareGroup>& groups, double capacity) {
  std::vector<std::vector<std::size_t>> children(groups.size());
  for (auto& g : groups) g.want = g.demand;
  for (std::size_t i = groups.size(); i-- > 0;) {
    ShareGroup& g = groups[i];
    g.want = std::min(g.want, g.bound);
    if (g.parent < 0) continue;
    groups[static_cast<std::size_t>(g.parent)].want += g.want;
    children[static_cast<std::size_t>(g.parent)].push_back(i);
  }
  if (groups.empty()) return;
  groups[0].given = std::min(groups[0].want, capacity);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (children[i].empty()) continue;
    std::vector<double> wants, weights;
    for (const auto c : children[i]) {
      wants.push_back(groups[c].want);
      weights.push_back(groups[c].weight);
    }
    const double own = std::min(groups[i].demand, groups[i].given);
    const auto parts = fill(groups[i].given - own, wants, weights);
    for (std::size_t n = 0; n < parts.size(); ++n) groups[children[i][n]].given = parts[n];
  }
}

}  // namespace koordlet::sim
