#pragma once

#include <string>

#include "sim/timeline.hpp"

namespace koordlet::sim {

/// The run as SVG. Above: CPU in cores over time, LS demand and use, BE use and its cap, on bands
/// that show the level (MID amber, HIGH red). Below: LS p99 in milliseconds. Long runs are drawn
/// with the mean of each pixel's steps.
/// `measured`: a run of a real node, whose demand and latency nobody knows: without these.
std::string plot_svg(const Scenario& scenario,
                     const Timeline& timeline,
                     const std::string& title,
                     bool measured = false);

}  // namespace koordlet::sim
