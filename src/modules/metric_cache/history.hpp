#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/lmdb_env.hpp"
#include "store/metric_store.hpp"

namespace koordlet {

/// The storage thread's half of MetricCache: the environment, the store in it, and what to do when
/// one of them is not usable. Plain calls, no threads of its own.
class History {
 public:
  struct Options {
    std::string folder;
    std::uint64_t map_size = 0;
    std::chrono::seconds ttl{3600};     ///< of samples
    std::chrono::seconds retention{0};  ///< of roll-ups, `ttl` or more; 0: none are made
  };
  explicit History(Options options) : options_{std::move(options)} {}

  /// A damaged file and one of another format are set aside. Returns by how much stored time has to
  /// run ahead of `now` so that it rises from the rows of earlier runs (the wall clock was stepped
  /// back in between): 0 when it does anyway. Rows that are ahead by more than the ttl are dropped
  /// instead, their clock was wrong.
  Result<std::chrono::milliseconds> open(store::StoredTime now);
  bool is_open() const { return store_ != nullptr; }
  void close();

  /// Stored at `at`, or 1 ms after the newest row when that is later. An environment that turns out
  /// damaged is opened again, at most once a minute; this batch is lost.
  Result<void> append(store::StoredTime at, std::vector<store::MetricSample> samples);
  Result<std::optional<store::TimedValue>> last(const store::SeriesKey& series);
  /// Samples of the last `window` before `now`; rows that were moved on by a millisecond are in.
  Result<std::optional<store::WindowAggregate>> aggregate(const store::SeriesKey& series,
                                                          store::StoredTime now,
                                                          std::chrono::seconds window);
  /// One scan for all of them; answers in the order of the questions.
  using Question = std::pair<store::SeriesKey, std::chrono::seconds>;
  Result<std::vector<std::optional<store::WindowAggregate>>> aggregate_many(
      const std::vector<Question>& questions, store::StoredTime now);
  /// As MetricStore says; kRange: `from` is after `to`.
  Result<std::optional<store::SeriesSummary>> summarize(const store::SeriesWindow& window,
                                                        const std::vector<double>& quantiles);
  Result<std::vector<store::RollupPoint>> rollups(const store::SeriesWindow& window);
  Result<std::vector<store::TimedValue>> range(const store::SeriesWindow& window);
  Result<std::vector<store::SeriesKey>> series();
  Result<std::size_t> expire(store::StoredTime now);
  /// One bounded step of sealing, rolling up and dropping; true: there is more to do.
  Result<bool> maintain(store::StoredTime now);

  /// nullopt: not open.
  std::optional<store::MetricStore::Totals> totals() const;
  const std::string& moved_aside() const { return moved_aside_; }
  const std::string& aside_reason() const { return aside_reason_; }  ///< what was wrong with it
  std::uint64_t dropped_rows() const;                                ///< over all opens
  std::uint64_t damaged_rows() const;                                ///< skipped, over all opens
  std::uint64_t refused_samples() const;  ///< names too long, over all opens
  std::uint64_t used_bytes() const { return env_ ? env_->used_bytes() : 0; }
  std::uint64_t map_bytes() const { return env_ ? env_->map_size() : 0; }

 private:
  Result<void> open_files();
  Result<store::SeriesWindow> window_of(const store::SeriesKey& series,
                                        store::StoredTime now,
                                        std::chrono::seconds length) const;
  /// Passes the error on; reopens when it says that the environment is done for.
  Error judge(Error e);

  Options options_;
  std::optional<store::LmdbEnv> env_;
  std::unique_ptr<store::MetricStore> store_;  // goes before env_
  std::string moved_aside_, aside_reason_;
  std::uint64_t dropped_before_ = 0, damaged_before_ = 0, refused_before_ = 0;
  std::optional<store::StoredTime> reopened_at_;
  store::StoredTime now_{0};  // newest time that any call has seen
};

}  // namespace koordlet
