#pragma once

#include <string_view>

#include "modules/status_api/status_view.hpp"
#include "net/http_server.hpp"

namespace koordlet::status_api {

/// GET /api/v1/predictions: what is forecast for the node, its classes and pods, by which rule, and
/// how the forecasts before it compare with what came. Pods in pages.
net::HttpResponse predictions(const StatusView& view, std::string_view query);

}  // namespace koordlet::status_api
