#pragma once

#include <optional>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "model/metric_selector.hpp"
#include "modules/status_api/query.hpp"
#include "store/metric_store.hpp"

namespace koordlet::status_api {

/// The series of one page, by rising metric and owner.
struct SeriesPage {
  std::vector<store::SeriesKey> series;
  std::size_t matched = 0;  ///< by the selector
  std::size_t before = 0;   ///< of them, shown by earlier pages
};

/// Where a page starts: behind a series, or (the last one was shown in part) with it.
struct PageStart {
  store::SeriesKey series;
  bool with_it = false;
};

/// Leaves the loop to others each thousand series.
boost::asio::awaitable<SeriesPage> select_series(std::vector<store::SeriesKey> all,
                                                 MetricSelector selector,
                                                 std::optional<PageStart> start,
                                                 std::size_t limit);

/// What a page token remembers of a series; and back.
std::string series_name(const store::SeriesKey& series);
store::SeriesKey series_named(std::string_view name);

}  // namespace koordlet::status_api
