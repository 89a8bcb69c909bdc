#pragma once

#include "modules/status_api/json_text.hpp"
#include "modules/status_api/status_view.hpp"
#include "net/http_server.hpp"

namespace koordlet::status_api {

/// GET /api/v1/recorder: state of the flight recorder.
net::HttpResponse recorder(const StatusView& view);

}  // namespace koordlet::status_api
