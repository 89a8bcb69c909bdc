#pragma once

#include <limits>
#include <vector>

namespace koordlet::sim {

inline constexpr double kNoBound = std::numeric_limits<double>::infinity();

/// One cgroup as the fair scheduler sees it: cores over one step. The root is entry 0, and parents
/// stand before their children.
struct ShareGroup {
  int parent = -1;          ///< index; -1: the root
  double demand = 0;        ///< of its own tasks
  double bound = kNoBound;  ///< quota / period, or CPUs of a narrower cpuset
  double weight = 1;        ///< against its siblings, above 0
  double want = 0;          ///< out: min(bound, own demand + what its children want)
  double given = 0;         ///< out: what it and everything below it gets
};

/// Work-conserving sharing by weight, level by level, as CFS and EEVDF do over times well above a
/// period (water-filling): a group that wants less than its share gets what it wants, and the rest
/// is split among the others by weight. No group gets more than its bound. Tasks of a group that
/// has children come before those: at the root that is the system.
void share_cpu(std::vector<ShareGroup>& groups, double capacity);

/// Splits `amount` among wants by weight; the sum of the answer is min(amount, sum of wants).
std::vector<double> fill(double amount,
                         const std::vector<double>& wants,
                         const std::vector<double>& weights);

}  // namespace koordlet::sim
