#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "store/lmdb_env.hpp"

namespace koordlet::store {

/// A series is a metric kind and one owner: {"pod_cpu_usage", "<uid>"}, {"node_cpu_usage", ""}.
/// Kinds are those of the metric registry (reference: metrics-and-prediction, section 3).
struct SeriesKey {
  std::string kind;
  std::string owner;
  friend auto operator<=>(const SeriesKey&, const SeriesKey&) = default;
};

/// Stored time: milliseconds since the epoch by the boot anchor + monotonic clock; it never steps
/// back within a boot.
using StoredTime = std::chrono::milliseconds;

/// Values are scaled integers: milli-cores, bytes, permille; the kind says which.
struct MetricSample {
  SeriesKey series;
  std::int64_t value = 0;
};

struct MetricBatch {
  StoredTime at{0};
  std::vector<MetricSample> samples;
};

struct TimedValue {
  StoredTime at{0};
  std::int64_t value = 0;
  friend bool operator==(const TimedValue&, const TimedValue&) = default;
};

struct WindowAggregate {
  std::size_t count = 0;
  std::int64_t min = 0, max = 0, last = 0;
  double mean = 0;
  std::int64_t p50 = 0, p90 = 0, p95 = 0,
               p99 = 0;  ///< nearest rank: index ceil(n*p) - 1 of the sorted values
  StoredTime first_at{0}, last_at{0};
  bool exact = true;  ///< as SeriesSummary::exact
};

/// What is known of one series in a window.
struct SeriesSummary {
  std::size_t count = 0;  ///< samples, above 0
  std::int64_t min = 0, max = 0, last = 0;
  double mean = 0;
  StoredTime first_at{0}, last_at{0};  ///< of roll-ups: the start of their minute
  std::vector<double> quantiles;       ///< in the order asked for
  /// Every sample itself was seen. False: roll-ups of several samples took part; count, min, max,
  /// mean and last are still those of the samples, but a quantile is within 1 % of the sample of
  /// its rank, and the window is rounded to whole minutes.
  bool exact = true;
};

/// The samples of one series in one minute.
struct RollupPoint {
  StoredTime at{0};  ///< start of the minute
  std::uint64_t count = 0;
  std::int64_t min = 0, max = 0, last = 0;
  double mean = 0;
  friend bool operator==(const RollupPoint&, const RollupPoint&) = default;
};

/// Of kind and owner each, in bytes: room for any name that the daemon makes, and short enough that
/// both fit into a page token of the API.
constexpr std::size_t kMaxSeriesText = 512;

/// One question of many: a series and its window, both ends included.
struct SeriesWindow {
  SeriesKey series;
  StoredTime from{0}, to{0};
};

/// The time-series store: one row a batch, turned into packed blocks of each series within ten
/// minutes and into roll-ups of minutes each hour; series in a dictionary (docs/metric-store.md).
/// Storage thread only; `env` outlives it. What cannot be read is skipped and counted. Errors are
/// those of LmdbEnv.
class MetricStore {
 public:
  struct Options {
    /// Samples older than this are dropped; with roll-ups, once their hour is rolled up.
    std::chrono::seconds ttl{3600};
    std::chrono::seconds retention{0};  ///< of roll-ups, `ttl` or more; 0: none are made
  };
  /// What the store holds now.
  struct Totals {
    std::size_t series = 0;            ///< names in use
    std::size_t rows = 0;              ///< not sealed yet, or sealed and not dropped yet
    std::size_t seals = 0;             ///< of samples
    std::uint64_t sealed_series = 0;   ///< blocks in them: each seal counts its series
    std::uint64_t sealed_samples = 0;  ///< samples in them
    std::size_t rolled_minutes = 0;    ///< minutes that have roll-ups
  };
  /// kNotSupported: the file holds another format or something else; nothing was changed in it.
  static Result<std::unique_ptr<MetricStore>> open(LmdbEnv& env, const Options& options);
  virtual ~MetricStore() = default;

  /// One write transaction. A full map (or disk) drops the oldest data, counts it, and still
  /// takes the batch. A batch whose time is not after the last one is kRange, one that an empty map
  /// cannot hold is kBusy (is_map_full). Of samples of one series in a batch the last one counts; a
  /// series whose kind or owner is longer than kMaxSeriesText is refused and counted, the rest is
  /// taken. No samples: no row.
  virtual Result<void> append(const MetricBatch& batch) = 0;
  /// nullopt: no sample of this series.
  virtual Result<std::optional<TimedValue>> last(const SeriesKey& series) = 0;
  /// Samples with from <= at <= to. nullopt: no sample in the window ("not enough samples" is not
  /// zero).
  virtual Result<std::optional<WindowAggregate>> aggregate(const SeriesKey& series,
                                                           StoredTime from,
                                                           StoredTime to) = 0;
  /// The same for many series and windows in one pass over the rows; answers in the order of the
  /// questions. A row costs its decoding once, however many series are asked for.
  virtual Result<std::vector<std::optional<WindowAggregate>>> aggregate_many(
      const std::vector<SeriesWindow>& questions) = 0;
  virtual Result<std::vector<TimedValue>> range(const SeriesKey& series,
                                                StoredTime from,
                                                StoredTime to) = 0;
  /// One window, any quantiles (0 to 1, nearest rank as above; kRange: another number). nullopt: no
  /// sample in the window.
  virtual Result<std::optional<SeriesSummary>> summarize(const SeriesKey& series,
                                                         StoredTime from,
                                                         StoredTime to,
                                                         const std::vector<double>& quantiles) = 0;
  /// The minutes of the window that hold samples, in order; the first and the last minute count
  /// their samples inside the window only as far as the samples themselves are still kept.
  virtual Result<std::vector<RollupPoint>> rollups(const SeriesKey& series,
                                                   StoredTime from,
                                                   StoredTime to) = 0;
  virtual Result<std::vector<SeriesKey>> series() = 0;
  /// One bounded step (milliseconds) of sealing or rolling up, if there is one to do; true: call
  /// again. To be called after batches, queries may come in between.
  virtual Result<bool> maintain(StoredTime now) = 0;
  /// Drops what is past its time and series without data; returns the rows of samples dropped.
  virtual Result<std::size_t> expire(StoredTime now) = 0;
  /// Drops batches after `t`, left by a run whose wall clock was ahead: a seal as a whole, and the
  /// roll-up of the hour of `t` (its samples answer if they are still kept).
  virtual Result<std::size_t> drop_after(StoredTime t) = 0;
  /// Time of the newest batch, or the end of the last rolled-up hour when that is later: batches go
  /// behind it.
  virtual std::optional<StoredTime> newest() const = 0;
  virtual Totals totals() const = 0;
  virtual std::uint64_t dropped_rows() const = 0;     ///< lost to a full map since open; of
                                                      ///< roll-ups: minutes
  virtual std::uint64_t damaged_rows() const = 0;     ///< skipped since open
  virtual std::uint64_t refused_samples() const = 0;  ///< names too long, since open
};

}  // namespace koordlet::store
