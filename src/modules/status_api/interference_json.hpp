#pragma once

#include <string>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "modules/status_api/json_text.hpp"

/// Interference and what the node uses beside CPU and memory.
namespace koordlet::status_api {

/// GET /api/v1/interference: sources, the node's worst, every latency-sensitive pod.
net::HttpResponse interference(const StatusView& view);
/// The lines of the status page.
json::object interference_summary(const StatusView& view);
/// One pod's degree with its evidence and the pods to blame; null when there is none.
json::value pod_interference(const StatusView& view, std::string_view uid);
/// Disks, networks, NUMA nodes, caches, PSI of the node.
json::value node_usage(const StatusView& view);
/// PSI of one subject: {"cpu": {"some_percent", "full_percent"}, ...}.
json::object stalls(const Stalls& s);
json::value io_rate(const std::optional<IoRate>& io);

}  // namespace koordlet::status_api
