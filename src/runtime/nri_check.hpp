#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "model/hook.hpp"

/// What a hook may answer. One that breaks these rules would at best be thrown away by the runtime,
/// at worst cost the connection. kInvalid with the value's name.
namespace koordlet::runtime {

/// Quota, period and limits above 0, CPU sets that are not empty.
Result<void> check_resources(const HookResources& resources);
/// Besides, oom_score_adj in -1000..1000; names of the environment that are names; absolute paths
/// of mounts and devices. A leading '-' would remove what somebody else has set: no hook does.
Result<void> check_adjustment(const HookAdjustment& adjustment);
/// Each names a container, and none the one that is `creating`.
Result<void> check_updates(const std::vector<HookUpdate>& updates,
                           const std::string& creating = {});

}  // namespace koordlet::runtime
