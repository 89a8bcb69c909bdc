#pragma once

#include <utility>

#include "base/clock.hpp"
#include "modules/metric_cache/metric_cache.hpp"
#include "modules/status_api/metric_source.hpp"

namespace koordlet::app {

/// What the REST API reads history from. `cache` and `clock` outlive it.
class CachedHistory final : public MetricSource {
 public:
  CachedHistory(MetricCache& cache, const Clock& clock) : cache_{cache}, clock_{clock} {}
  store::StoredTime now() const override { return cache_.stored_time(clock_.now()); }
  Answer<std::vector<store::SeriesKey>> series() override { return cache_.series(); }
  Answer<std::optional<store::SeriesSummary>> summarize(store::SeriesKey series,
                                                        store::StoredTime from,
                                                        store::StoredTime to,
                                                        std::vector<double> quantiles) override {
    return cache_.summarize(std::move(series), from, to, std::move(quantiles));
  }
  Answer<std::vector<store::TimedValue>> range(store::SeriesKey series,
                                               store::StoredTime from,
                                               store::StoredTime to) override {
    return cache_.range(std::move(series), from, to);
  }
  Answer<std::vector<store::RollupPoint>> rollups(store::SeriesKey series,
                                                  store::StoredTime from,
                                                  store::StoredTime to) override {
    return cache_.rollups(std::move(series), from, to);
  }

 private:
  MetricCache& cache_;
  const Clock& clock_;
};

}  // namespace koordlet::app
