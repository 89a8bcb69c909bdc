#pragma once

#include "modules/status_api/json_text.hpp"

namespace koordlet::status_api {

/// Level, state and the configuration that holds: everything of /api/v1/qos but the file table.
json::object qos_state(const StatusView& view);

}  // namespace koordlet::status_api
