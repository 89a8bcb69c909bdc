#pragma once

#include <boost/json/array.hpp>

#include "modules/status_api/status_view.hpp"
#include "net/http_server.hpp"

namespace koordlet::status_api {

/// GET /api/v1/audit: what was done and decided, newest first; `pod` narrows it to one pod.
net::HttpResponse audit(const StatusView& view, std::string_view query);

/// The newest events that concern one pod: its own files, those of its class, levels, its eviction.
boost::json::array decisions_about(const StatusView& view, const Pod& pod);

}  // namespace koordlet::status_api
