#pragma once

#include "modules/status_api/series.hpp"
#include "modules/status_api/status_view.hpp"

namespace koordlet::status_api {

/// Degrees, run-queue latency, CPI, PSI and cache use; names and labels of CPI, PSI and resctrl are
/// those that Koordinator's dashboards ask for.
void add_interference(SeriesSet& out, const StatusView& view);

}  // namespace koordlet::status_api
