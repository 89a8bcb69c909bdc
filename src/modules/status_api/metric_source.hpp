#pragma once

#include <optional>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "store/metric_store.hpp"

namespace koordlet {

/// History as the query endpoints see it: MetricCache behind the daemon, a plain store in tests.
/// Called on the loop thread, works elsewhere; several questions may be under way. Times are stored
/// times (milliseconds since the epoch). Errors: kNotSupported, no history is open; else of the
/// store.
class MetricSource {
 public:
  template <class T>
  using Answer = boost::asio::awaitable<Result<T>>;

  virtual ~MetricSource() = default;
  virtual store::StoredTime now() const = 0;
  virtual Answer<std::vector<store::SeriesKey>> series() = 0;
  virtual Answer<std::optional<store::SeriesSummary>> summarize(store::SeriesKey series,
                                                                store::StoredTime from,
                                                                store::StoredTime to,
                                                                std::vector<double> quantiles) = 0;
  virtual Answer<std::vector<store::TimedValue>> range(store::SeriesKey series,
                                                       store::StoredTime from,
                                                       store::StoredTime to) = 0;
  virtual Answer<std::vector<store::RollupPoint>> rollups(store::SeriesKey series,
                                                          store::StoredTime from,
                                                          store::StoredTime to) = 0;
};

}  // namespace koordlet
