#pragma once

#include <string_view>

#include "modules/status_api/json_text.hpp"

namespace koordlet::status_api {

/// GET /api/v1/explain/UID or /api/v1/explain/namespace/name: why this pod gets the CPU it gets.
net::HttpResponse explain(const StatusView& view, std::string_view uid_or_name);

/// One held file as the explain and executor answers show it.
json::object held_file(const StatusView& view, const StatusView::HeldFile& held);

}  // namespace koordlet::status_api
