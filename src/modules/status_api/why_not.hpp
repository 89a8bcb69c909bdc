#pragma once

#include <string>
#include <vector>

#include "modules/status_api/cpu_path.hpp"

namespace koordlet::status_api {

/// Why koordlet holds no file of this pod, the deciding reason first; never empty.
std::vector<std::string> why_no_caps(const StatusView& view, const Pod& pod);

/// What a reader of explain would miss: a cap that another limit makes pointless, contest, stale
/// data, a limit that is shared.
std::vector<std::string> notes(const StatusView& view,
                               const HeldIndex& held,
                               const Pod& pod,
                               const std::vector<PathLimit>& path,
                               const PathLimit* bound);

}  // namespace koordlet::status_api
