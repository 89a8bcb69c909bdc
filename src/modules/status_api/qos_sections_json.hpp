#pragma once

#include <boost/json/object.hpp>

#include "modules/status_api/status_view.hpp"

/// Sections of GET /api/v1/qos that belong to one plugin each.
namespace koordlet::status_api {

boost::json::object burst_json(const StatusView& view);
boost::json::object memory_qos_json(const StatusView& view);
boost::json::object idle_buffer_json(const StatusView& view);
boost::json::object memory_soften_json(const StatusView& view);

}  // namespace koordlet::status_api
