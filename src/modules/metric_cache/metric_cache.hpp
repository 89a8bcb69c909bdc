#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "base/clock.hpp"
#include "reactor/worker.hpp"
#include "store/metric_store.hpp"

namespace koordlet {

/// History. Everything LMDB happens on the storage thread; the loop never waits for it. A store
/// that fails or is behind loses samples and counts them, decisions go on without history.
class MetricCache {
 public:
  struct Config {
    std::string folder;  ///< its own environment, apart from state
    std::uint64_t map_size = 256ull << 20;
    std::chrono::seconds ttl{3600};
    std::chrono::seconds gc_interval{1800};
    std::size_t max_queued_batches = 64;  ///< beyond: the batch is dropped and counted
  };
  struct Stats {
    std::uint64_t batches = 0, samples = 0, dropped_batches = 0, dropped_rows = 0, errors = 0;
    std::uint64_t used_bytes = 0, map_bytes = 0;
    std::string last_error;
    std::string moved_aside;  ///< damaged store that was set aside at open, or empty
    std::chrono::microseconds last_commit{0};
  };

  MetricCache(Config config, reactor::Worker& storage, const Clock& clock);
  ~MetricCache();
  /// Opens the environment on the storage thread. An error here is the caller's to judge (locked,
  /// not writable).
  boost::asio::awaitable<Result<void>> open();
  /// Never blocks. The time of the batch is taken from the boot anchor + `now`.
  void append(MonoTime now, std::vector<store::MetricSample> samples);
  boost::asio::awaitable<Result<std::optional<store::TimedValue>>> last(store::SeriesKey series);
  boost::asio::awaitable<Result<std::optional<store::WindowAggregate>>> aggregate(
      store::SeriesKey series, std::chrono::seconds window);
  /// Expiry each gc_interval until cancelled.
  boost::asio::awaitable<void> run();
  Stats stats() const;
  store::StoredTime stored_time(MonoTime t) const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace koordlet
