#pragma once

#include <string>
#include <vector>

#include "modules/status_api/status_view.hpp"

namespace koordlet::status_api {

/// What would change the pressure level now, in plain sentences with the thresholds that hold:
/// "relaxes to MID when node use < 75 % for 2 samples (1 of 2 so far)".
std::vector<std::string> next_level_changes(const StatusView& view);

/// Node use in 1/100 %; nullopt while there are no signals, no capacity or no evaluation.
std::optional<int> node_use_permyriad(const StatusView& view);

}  // namespace koordlet::status_api
