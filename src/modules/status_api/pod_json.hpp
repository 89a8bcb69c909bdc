#pragma once

#include <boost/json/object.hpp>

#include "model/pod.hpp"
#include "modules/status_api/held_index.hpp"
#include "modules/status_api/json_text.hpp"
#include "modules/status_api/query.hpp"

namespace koordlet::status_api {

/// What the list, the single pod and explain show of a pod.
json::object pod_summary(const StatusView& view,
                         const HeldIndex& held,
                         const Pod& pod,
                         const json::storage_ptr& sp);

/// GET /api/v1/pods: ?limit= 1..1000 (500), ?continue=, ?namespace=, ?qos= (with default, "BE").
net::HttpResponse pods_list(const StatusView& view, std::string_view query);
/// GET /api/v1/pods/UID: the summary, and labels, annotations and containers.
net::HttpResponse pod_detail(const StatusView& view, std::string_view uid);

/// By uid, else by "namespace/name"; nullptr when there is no such pod.
const Pod* look_up(const StatusView& view, std::string_view uid_or_name);

}  // namespace koordlet::status_api
