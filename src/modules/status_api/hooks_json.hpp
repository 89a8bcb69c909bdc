#pragma once

#include "modules/status_api/json_text.hpp"
#include "modules/status_api/status_view.hpp"

namespace koordlet::status_api {

/// `hooks` of GET /api/v1/status; null: switched off.
json::value hooks_summary(const StatusView& view);

}  // namespace koordlet::status_api
