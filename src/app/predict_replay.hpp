#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/series_file.hpp"
#include "base/result.hpp"
#include "policy/predict_score.hpp"

namespace koordlet::app {

struct ReplayOptions {
  std::chrono::seconds horizon{3600};
  std::optional<std::chrono::seconds> warmup;  ///< nullopt: a day, at most half of the recording
  std::string column;                          ///< only this one; "": each column is a series
  int sum = 0;                                 ///< above 0: series are sums of so many columns
  int nodes = 40;                  ///< with sum: so many sums of columns drawn at random
  std::optional<double> capacity;  ///< no forecast above it
};

struct ReplayRow {
  std::string predictor;
  policy::Score score;
};

struct ReplayResult {
  std::chrono::seconds step{0};                ///< median distance of rows
  std::chrono::seconds horizon{0}, warmup{0};  ///< as used: cut where the recording is too short
  bool horizon_cut = false;
  std::size_t series = 0;
  std::size_t unknown_peaks = 0;  ///< windows that were not scored: gaps, or a peak of 0
  std::size_t bytes_per_model = 0;
  double milliseconds = 0;      ///< of one observation with its forecast, mean
  std::vector<ReplayRow> rows;  ///< "original" first, "chosen" last
};

/// (series done, of how many)
using ReplayProgress = std::function<void(std::size_t, std::size_t)>;

/// Runs every predictor over the recording as if it came live, and scores, each hour after the
/// warm-up, its forecast against the largest value of (t, t + horizon]. Errors: a column that does
/// not exist, more columns to sum than there are, a recording too short for one window.
Result<ReplayResult> replay(const SeriesTable& table,
                            const ReplayOptions& options,
                            const ReplayProgress& progress);

}  // namespace koordlet::app
