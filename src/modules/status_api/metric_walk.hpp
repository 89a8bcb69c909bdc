#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <vector>

#include "modules/status_api/metric_source.hpp"
#include "policy/series_plot.hpp"

/// Reading of one series in pieces, so that neither the storage thread nor the loop is held long.
namespace koordlet::status_api {

/// A sample, or a minute of them where the samples themselves are gone.
struct HistoryPoint {
  store::StoredTime at{0};
  std::uint64_t count = 1;
  std::int64_t min = 0, max = 0, last = 0;
  double mean = 0;
  bool rollup = false;
  policy::PlotBuckets::Group group() const;
};

/// Both in one line, by rising time and without overlap: a minute that a roll-up stands for is not
/// told again by its samples, where both are kept samples win.
std::vector<HistoryPoint> merge_history(const std::vector<store::RollupPoint>& rollups,
                                        const std::vector<store::TimedValue>& samples);

/// From which to which time a series is read, and whether roll-ups are needed.
struct WalkWindow {
  store::StoredTime from{0}, to{0};
  bool exact = true;
};
/// What of from..to the series has at all.
WalkWindow narrow(store::StoredTime from,
                  store::StoredTime to,
                  const store::SeriesSummary& summary);

/// The loop's own clock: how long an answer may take is not a matter of the tests' time.
using Deadline = std::chrono::steady_clock::time_point;

/// Hands the points of the window to `visit`, an hour of the store at a time, until it answers
/// false. kBusy when the deadline passes. `source` and what `visit` uses outlive the walk.
boost::asio::awaitable<Result<void>> walk_series(MetricSource& source,
                                                 store::SeriesKey series,
                                                 WalkWindow window,
                                                 Deadline deadline,
                                                 std::function<bool(const HistoryPoint&)> visit);

}  // namespace koordlet::status_api
