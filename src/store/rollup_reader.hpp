#pragma once

#include <cstdint>
#include <vector>

#include "store/quantile_sketch.hpp"
#include "store/seal_log.hpp"
#include "store/window.hpp"

namespace koordlet::store {

/// What a window holds of one series, as it is gathered from roll-ups and samples in order of time.
class Gathered {
 public:
  /// `quantiles`: values are kept for them; `points`: minutes are.
  Gathered(bool quantiles, bool points) : quantiles_{quantiles}, points_wanted_{points} {}
  void add(const std::vector<TimedValue>& samples);
  void add_minute(StoredTime minute, const Moments& moments);
  bool wants_sketches() const { return quantiles_; }
  QuantileSketch& sketch() { return sketch_; }

  std::optional<SeriesSummary> summary(const std::vector<double>& quantiles);
  const std::vector<RollupPoint>& points() const { return points_; }

 private:
  double quantile(double q) const;
  bool quantiles_, points_wanted_, exact_ = true;
  Moments moments_;
  std::vector<std::int64_t> values_;
  QuantileSketch sketch_;  // of the minutes of several samples
  std::vector<RollupPoint> points_;
};

/// Adds the minutes of series `id` that overlap the window to `to`, in order. Returns the seals and
/// blocks that could not be read.
Result<std::size_t> read_rollups(
    SealLog& minutes, std::uint32_t id, StoredTime from, StoredTime to, Gathered& out);

/// The newest value of series `id`, with the start of its minute.
Result<std::optional<TimedValue>> last_in_rollups(SealLog& minutes, std::uint32_t id);

}  // namespace koordlet::store
