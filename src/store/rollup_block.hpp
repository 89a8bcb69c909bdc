#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/quantile_sketch.hpp"
#include "store/window.hpp"

namespace koordlet::store {

/// One minute of one series.
struct MinuteRollup {
  std::uint32_t row = 0;  ///< which minute of its hour's head
  Moments moments;
  /// The samples: a sketch of few would take more memory, above all of numbers far apart.
  std::vector<std::int64_t> values;
};

/// The minutes of one series as columns (docs/metric-store.md has the bytes). Minutes of one sample
/// each take one block of values and nothing else.
void append_rollups(std::span<const MinuteRollup> minutes, std::string& out);

/// Reads such a block where it lies.
class RollupReader {
 public:
  /// `minutes`: how many it holds. nullopt: damaged.
  static std::optional<RollupReader> open(std::string_view block, std::size_t minutes);
  bool single() const { return single_; }     ///< every minute is one sample
  Moments moments(std::size_t minute) const;  ///< without times
  /// Minute after minute, from the first on: adds the values of `minute` to `to`. False: damaged.
  bool add_next_sketch(std::size_t minute, bool wanted, QuantileSketch& to);

 private:
  bool single_ = true;
  std::vector<std::int64_t> count_, min_, max_, last_, mean_, rest_;  // single: min_ only
  std::string_view sketches_;
};

}  // namespace koordlet::store
