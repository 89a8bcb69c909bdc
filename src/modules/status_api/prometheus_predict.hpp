#pragma once

#include "modules/status_api/series.hpp"
#include "modules/status_api/status_view.hpp"

namespace koordlet::status_api {

/// Forecasts of the node and their score, prodReclaimable and the cost of it all; names and labels
/// of prodReclaimable are those that Koordinator's dashboards ask for.
void add_predictions(SeriesSet& out, const StatusView& view);

}  // namespace koordlet::status_api
