#pragma once

#include <cstdint>
#include <vector>

#include "modules/resource_executor/resource_executor.hpp"

namespace koordlet::executor {

/// A Change by reference: a CgroupValue is half a kilobyte, and a batch has hundreds. What it
/// points to outlives the plan.
struct ChangeRef {
  const CgroupKey* key = nullptr;
  const CgroupValue* current = nullptr;
  const CgroupValue* desired = nullptr;
  int order = 0;
};

/// One write of a plan, as an index into the planned changes: a plan copies no values.
struct Step {
  std::uint32_t change = 0;
  std::uint8_t pass = 1;
  bool merged = false;  ///< the union of current and desired (a cpuset that moves), not the target
};

/// The body of plan_writes(). Changes whose value would not change yield no step.
std::vector<Step> plan_steps(CgroupVersion version, const std::vector<ChangeRef>& changes);

/// What a step writes.
CgroupValue step_value(const Step& step, const ChangeRef& change);

/// Compares the bandwidths quota/period without rounding: below 0, 0, above 0. Unlimited is above
/// everything.
int compare_bandwidth(const CpuMax& a, const CpuMax& b);

/// True when a write of `file` that failed for a descendant forbids to shrink the ancestor: the
/// kernel would refuse it.
bool shrink_depends_on_children(CgroupVersion version, CgroupFile file);

}  // namespace koordlet::executor
