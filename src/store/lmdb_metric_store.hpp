#pragma once

#include <string>
#include <vector>

#include <lmdb.h>

#include "store/metric_row.hpp"
#include "store/metric_store.hpp"
#include "store/row_log.hpp"
#include "store/series_dictionary.hpp"

namespace koordlet::store {

/// Databases of a metric environment; docs/metric-store.md has the bytes.
struct MetricFormat {
  static constexpr std::string_view kVersion = "1";
  static constexpr const char* kMeta = "meta";
  static constexpr const char* kSeries = "series";
  static constexpr const char* kRows = "rows";
  static constexpr std::string_view kVersionKey = "format";
  static constexpr std::string_view kDroppedKey = "dropped_rows";
};

/// The interface is documented in metric_store.hpp. Opening and queries are in metric_store.cpp,
/// windows in metric_aggregate.cpp, appending and dropping in metric_append.cpp.
class LmdbMetricStore final : public MetricStore {
 public:
  LmdbMetricStore(LmdbEnv& env, const Options& options)
      : env_{env}, options_{options}, rows_{env} {}
  Result<void> start();

  Result<void> append(const MetricBatch& batch) override;
  Result<std::optional<TimedValue>> last(const SeriesKey& series) override;
  Result<std::optional<WindowAggregate>> aggregate(const SeriesKey& series,
                                                   StoredTime from,
                                                   StoredTime to) override;
  Result<std::vector<std::optional<WindowAggregate>>> aggregate_many(
      const std::vector<SeriesWindow>& questions) override;
  Result<std::vector<TimedValue>> range(const SeriesKey& series,
                                        StoredTime from,
                                        StoredTime to) override;
  Result<std::optional<SeriesSummary>> summarize(const SeriesKey& series,
                                                 StoredTime from,
                                                 StoredTime to,
                                                 const std::vector<double>& quantiles) override;
  Result<std::vector<RollupPoint>> rollups(const SeriesKey& series,
                                           StoredTime from,
                                           StoredTime to) override;
  Result<std::vector<SeriesKey>> series() override;
  Result<std::size_t> expire(StoredTime now) override;
  Result<std::size_t> drop_after(StoredTime t) override;
  std::optional<StoredTime> newest() const override { return rows_.newest(); }
  std::uint64_t dropped_rows() const override { return dropped_rows_; }
  std::uint64_t damaged_rows() const override { return damaged_rows_; }
  std::uint64_t refused_samples() const override { return refused_samples_; }

 private:
  using Id = SeriesDictionary::Id;
  Result<void> open_databases(MDB_txn* txn);
  Result<void> load_series(MDB_txn* txn);
  void resolve(const MetricBatch& batch);
  void forget_added();
  Result<void> put(const MetricBatch& batch);
  bool has_room(std::uint64_t bytes);
  Result<void> make_room(StoredTime at);
  Result<void> after_drop();
  Result<void> erase_names(const std::vector<Id>& gone);
  std::optional<std::int64_t> value_in(std::string_view row, Id id, std::size_t& group);

  LmdbEnv& env_;
  Options options_;
  RowLog rows_;
  SeriesDictionary dictionary_;
  MDB_dbi meta_ = 0, series_ = 0;
  std::optional<StoredTime> last_at_;
  std::uint64_t dropped_rows_ = 0, damaged_rows_ = 0, refused_samples_ = 0;
  // Of the batch in hand; kept for their memory.
  std::vector<RowEntry> entries_;
  std::vector<Id> hints_, added_;
  std::string row_;
};

}  // namespace koordlet::store
