#pragma once

#include <string>
#include <vector>

#include <lmdb.h>

#include "store/map_room.hpp"
#include "store/metric_row.hpp"
#include "store/metric_store.hpp"
#include "store/roller.hpp"
#include "store/rollup_reader.hpp"
#include "store/row_log.hpp"
#include "store/sample_reader.hpp"
#include "store/seal_log.hpp"
#include "store/sealer.hpp"
#include "store/series_dictionary.hpp"

namespace koordlet::store {

/// Databases of a metric environment; docs/metric-store.md has the bytes.
struct MetricFormat {
  static constexpr std::string_view kVersion = "2";
  static constexpr const char* kMeta = "meta";
  static constexpr const char* kSeries = "series";
  static constexpr const char* kRows = "rows";
  static constexpr const char* kSeals = "seals";
  static constexpr const char* kRollups = "rollups";
  static constexpr std::string_view kVersionKey = "format";
  static constexpr std::string_view kDroppedKey = "dropped_rows";
};

/// The interface is documented in metric_store.hpp. Opening is in metric_store.cpp, queries are in
/// metric_query.cpp, many windows at once in metric_aggregate.cpp, appending in metric_append.cpp,
/// sealing, expiry and dropping in metric_maintain.cpp.
class LmdbMetricStore final : public MetricStore {
 public:
  LmdbMetricStore(LmdbEnv& env, const Options& options) : env_{env}, options_{options} {}
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
  Result<bool> maintain(StoredTime now) override;
  Result<std::size_t> expire(StoredTime now) override;
  Result<std::size_t> drop_after(StoredTime t) override;
  std::optional<StoredTime> newest() const override;
  Totals totals() const override;
  std::uint64_t dropped_rows() const override { return dropped_rows_; }
  std::uint64_t damaged_rows() const override;
  std::uint64_t refused_samples() const override { return refused_samples_; }

 private:
  using Id = SeriesDictionary::Id;
  Result<void> open_databases(MDB_txn* txn);
  Result<void> load_series(MDB_txn* txn);
  void resolve(const MetricBatch& batch);
  void forget_added();
  Result<void> put(const MetricBatch& batch);
  bool empty() const { return rows_.count() == 0 && seals_.empty() && minutes_.empty(); }
  Result<void> expire_when_short(StoredTime at);
  Result<void> make_room(StoredTime at);
  Result<std::size_t> drop_oldest();
  Result<std::size_t> drop_sealed_rows();
  Result<std::size_t> expire_data(StoredTime now, bool unrolled_too);
  StoredTime raw_limit(StoredTime now) const;
  std::optional<StoredTime> oldest() const;
  Result<void> abandon_jobs();
  Result<void> give_way(Error error, StoredTime now);
  Result<void> after_drop();
  Result<void> erase_names(const std::vector<Id>& gone);

  // Where roll-ups end and samples begin, for a window that starts at `from`.
  StoredTime raw_from(StoredTime from) const;
  Result<void> gather(Id id, StoredTime from, StoredTime to, Gathered& out);
  Result<std::vector<TimedValue>> samples(Id id, StoredTime from, StoredTime to);

  LmdbEnv& env_;
  Options options_;
  RowLog rows_{env_};
  SealLog seals_{env_, MetricFormat::kSeals}, minutes_{env_, MetricFormat::kRollups};
  Sealer sealer_{env_, rows_, seals_};
  Roller roller_{env_, seals_, minutes_};
  SampleReader reader_{rows_, seals_};
  MapRoom room_{env_};
  SeriesDictionary dictionary_;
  MDB_dbi meta_ = 0, series_ = 0;
  std::optional<StoredTime> last_at_, expired_at_;
  std::uint64_t dropped_rows_ = 0, refused_samples_ = 0;
  // Of the batch in hand; kept for their memory.
  std::vector<RowEntry> entries_;
  std::vector<Id> hints_, added_;
  std::string row_;
};

}  // namespace koordlet::store
