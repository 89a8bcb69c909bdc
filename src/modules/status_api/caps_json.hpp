#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "modules/status_api/cpu_path.hpp"
#include "modules/status_api/json_text.hpp"
#include "modules/status_api/series.hpp"

/// What the caps do: effect, caps that do not bite, progress and starvation of best effort.
namespace koordlet::status_api {

json::array effects_json(const StatusView& view);  ///< newest first, the one not judged yet before
json::value last_effect_json(const StatusView& view);
/// `pod` nullptr: all; else its own and those of the levels above it.
json::array ineffective_json(const StatusView& view, const Pod* pod);
json::object starvation_json(const StatusView& view);
/// Share of its request that a BE pod received, and what it waits for; null for others.
json::value progress_json(const StatusView& view, const Pod& pod);
/// Which limit binds first: of the path, or the sum of the containers' own when all have one.
json::value binding_json(const StatusView& view,
                         const HeldIndex& held,
                         const Pod& pod,
                         const PathLimit* smallest_of_path);
void add_cap_series(SeriesSet& out, const StatusView& view);

}  // namespace koordlet::status_api
