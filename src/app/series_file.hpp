#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace koordlet::app {

/// Recorded series, one column each, all with the same times.
struct SeriesTable {
  std::vector<std::string> columns;
  std::vector<std::int64_t> times_s;        ///< rising; since 1970, or since the first row
  std::vector<std::vector<double>> values;  ///< by column, then by row; NaN: an empty field
  std::size_t left_out = 0;                 ///< rows not later than the one before
  std::size_t first_left_out_line = 0;
};

/// Comma-separated text with a header. First column "timestamp" ("2014-02-14 14:30:00", 'T' and a
/// final 'Z' allowed; UTC), "minute" or "second" (whole numbers); the others are amounts, at least
/// 0. Errors (kParse, kRange) name the line, counted from 1. At most 1000 columns, and two rows at
/// least.
Result<SeriesTable> parse_series(std::string_view text);

}  // namespace koordlet::app
