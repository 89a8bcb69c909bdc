#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "base/clock.hpp"
#include "reactor/worker.hpp"
#include "store/metric_store.hpp"

namespace koordlet {

/// History. Everything LMDB happens on the storage thread; the loop never waits for it. A store
/// that fails or is behind loses samples and counts them, decisions go on without history.
/// All calls from the loop thread. `storage` and `clock` outlive the cache, jobs of the cache may
/// outlive it.
///
/// Stored time = boot anchor + monotonic clock. The anchor is wall - monotonic, taken once at
/// construction: a step of the wall clock does not reach stored time. Between runs it may: a store
/// whose newest row is ahead by up to `ttl` moves the anchor at open(), so that time still rises
/// (newest + 1 ms is now); rows that are further ahead came from a wrong clock and are dropped.
class MetricCache {
 public:
  struct Config {
    std::string folder;  ///< its own environment, apart from state
    std::uint64_t map_size = 256ull << 20;
    std::chrono::seconds ttl{3600};             ///< of samples
    std::chrono::seconds retention{72 * 3600};  ///< of roll-ups of a minute; `ttl` or more
    std::chrono::seconds gc_interval{1800};
    std::size_t max_queued_batches = 64;  ///< beyond: the batch is dropped and counted
  };
  struct Stats {
    /// dropped_batches: not open yet, or more than max_queued_batches waiting. errors: failed
    /// batches, queries and expiries.
    std::uint64_t batches = 0, samples = 0, dropped_batches = 0, dropped_rows = 0, errors = 0;
    std::uint64_t used_bytes = 0, map_bytes = 0;
    std::optional<store::MetricStore::Totals> totals;  ///< nullopt: the store is not open
    /// Skipped because they could not be read; names too long to store.
    std::uint64_t damaged_rows = 0, refused_samples = 0;
    /// Steps of sealing, rolling up and dropping that found work, and the longest hold of the
    /// storage thread by one of them.
    std::uint64_t maintain_steps = 0;
    std::chrono::microseconds longest_step{0};
    std::string last_error;
    std::string moved_aside;  ///< damaged or foreign store that was set aside, or empty
    std::chrono::microseconds last_commit{0};
  };

  MetricCache(Config config, reactor::Worker& storage, const Clock& clock);
  ~MetricCache();
  MetricCache(const MetricCache&) = delete;
  MetricCache& operator=(const MetricCache&) = delete;
  /// Opens the environment on the storage thread. An error here is the caller's to judge (locked,
  /// not writable).
  boost::asio::awaitable<Result<void>> open();
  /// Never blocks. The time of the batch is stored_time(now), or 1 ms after the batch before it
  /// when that is later. Afterwards the storage thread seals, rolls up and drops what is due: one
  /// bounded step a job, so that what was queued meanwhile comes in between.
  void append(MonoTime now, std::vector<store::MetricSample> samples);
  /// Queries see every batch appended before them. nullopt: no sample. kNotSupported: not open.
  boost::asio::awaitable<Result<std::optional<store::TimedValue>>> last(store::SeriesKey series);
  /// Of the `window` that ends now; kRange when it is not above 0 s.
  boost::asio::awaitable<Result<std::optional<store::WindowAggregate>>> aggregate(
      store::SeriesKey series, std::chrono::seconds window);
  /// The same for many series, each with its own window, as one job on the storage thread and one
  /// scan of the rows; answers in the order of the questions.
  boost::asio::awaitable<Result<std::vector<std::optional<store::WindowAggregate>>>> aggregate_many(
      std::vector<std::pair<store::SeriesKey, std::chrono::seconds>> questions);
  /// Windows by stored time, both ends included; kRange: `from` is after `to`, or a quantile that
  /// is not 0 to 1. What comes back is told at store::MetricStore.
  boost::asio::awaitable<Result<std::optional<store::SeriesSummary>>> summarize(
      store::SeriesKey series,
      store::StoredTime from,
      store::StoredTime to,
      std::vector<double> quantiles);
  boost::asio::awaitable<Result<std::vector<store::RollupPoint>>> rollups(store::SeriesKey series,
                                                                          store::StoredTime from,
                                                                          store::StoredTime to);
  boost::asio::awaitable<Result<std::vector<store::TimedValue>>> range(store::SeriesKey series,
                                                                       store::StoredTime from,
                                                                       store::StoredTime to);
  /// All series that have data, sorted.
  boost::asio::awaitable<Result<std::vector<store::SeriesKey>>> series();
  /// One round: drops what is past its ttl, and series without rows; gives free memory back to the
  /// system. Returns the rows dropped.
  boost::asio::awaitable<Result<std::size_t>> collect_garbage();
  /// collect_garbage() each gc_interval until cancelled.
  boost::asio::awaitable<void> run();
  Stats stats() const;
  store::StoredTime stored_time(MonoTime t) const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace koordlet
