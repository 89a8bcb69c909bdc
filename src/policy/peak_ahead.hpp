#pragma once

#include <optional>
#include <string>

#include "base/units.hpp"
#include "policy/high_watch.hpp"
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

/// Says when to warn of a peak to come: one round's forecast may be gone with the next.
struct PeakWatch {
  HighWatch watch{};
  std::string warning{};  ///< the newest peak_ahead() while warned of one; "" not warned
  bool changed = false;   ///< the last round began or ended the warning
  /// nullopt: not looked for long enough, and what an earlier run told the cluster stays.
  const std::optional<bool>& lasting() const { return watch.lasting; }
};
/// One round later. `ahead`: as peak_ahead() says.
PeakWatch watch_peak(PeakWatch watch,
                     const std::string& ahead,
                     MonoTime now,
                     std::chrono::seconds after);

}  // namespace koordlet::policy
