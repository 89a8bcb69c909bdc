#pragma once

#include "modules/status_api/json_text.hpp"

/// The answers that show the daemon as a whole. Pure: view in, response out.
namespace koordlet::status_api {

net::HttpResponse status(const StatusView& view);  ///< GET /api/v1/status
net::HttpResponse node(const StatusView& view);    ///< GET /api/v1/node
/// GET /api/v1/qos and /api/v1/executor; their file lists are paged: ?limit=, ?continue=.
net::HttpResponse qos(const StatusView& view, std::string_view query);
net::HttpResponse executor(const StatusView& view, std::string_view query);
net::HttpResponse config(const StatusView& view);        ///< GET /api/v1/config
net::HttpResponse capabilities(const StatusView& view);  ///< GET /api/v1/capabilities
net::HttpResponse ready(const StatusView& view);         ///< GET /readyz: text, 200 or 503
/// Answer of POST /api/v1/restore.
net::HttpResponse restored(const std::vector<Outcome>& outcomes);

}  // namespace koordlet::status_api
