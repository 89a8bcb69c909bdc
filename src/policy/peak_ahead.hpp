#pragma once

#include <optional>
#include <string>

#include "base/units.hpp"
#include "policy/prediction.hpp"

namespace koordlet::policy {

/// What a node's forecast is compared with. 0: not known, and never exceeded.
struct PeakLimits {
  MilliCpu cpu;
  Bytes memory;
  int percent = 80;  ///< of both
};

/// Which forecast peak of the node reaches `percent`, as one line with the numbers; "" none does.
/// A cold forecast is careful by its making and warns of nothing.
std::string peak_ahead(const Prediction& node, const PeakLimits& limits);

}  // namespace koordlet::policy
