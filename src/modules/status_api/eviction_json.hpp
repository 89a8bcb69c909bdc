#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "model/pod.hpp"
#include "modules/status_api/series.hpp"
#include "modules/status_api/status_view.hpp"

namespace koordlet::status_api {

/// Counts, rules and recent outcomes.
boost::json::object eviction_json(const StatusView& view);
/// Of one pod, for each rule that is on: candidate or why not.
boost::json::array eviction_standing(const StatusView& view, const Pod& pod);
/// Outcomes by rule, and where each rule stands.
void add_evictions(SeriesSet& out, const StatusView& view);

}  // namespace koordlet::status_api
