#pragma once

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include "modules/status_api/status_view.hpp"

/// What /api/v1/status says of the control plane.
namespace koordlet::status_api {

boost::json::array resources_json(const StatusView& view);
boost::json::value api_json(const StatusView& view);  ///< null: no API server is used
boost::json::value report_json(const StatusView& view);
boost::json::value high_condition_json(const StatusView& view);  ///< null: it is not set here
}  // namespace koordlet::status_api
