#pragma once

#include "modules/status_api/json_text.hpp"

namespace koordlet::status_api {

/// CPU model, SMT and caches; null: nobody looked.
json::value hardware_json(const StatusView& view);

}  // namespace koordlet::status_api
