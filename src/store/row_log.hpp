#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string_view>

#include <lmdb.h>

#include "store/lmdb_env.hpp"
#include "store/metric_store.hpp"

namespace koordlet::store {

/// The database of rows: key = time (8 bytes big endian, ms), so that the left edge is the oldest.
/// Knows nothing of what a row holds. Keeps `env` by reference.
class RowLog {
 public:
  explicit RowLog(LmdbEnv& env) : env_{env} {}
  /// Start-up, with the handle of the database: reads the edges.
  Result<void> start(MDB_dbi dbi);

  std::optional<StoredTime> oldest() const { return oldest_; }
  std::optional<StoredTime> newest() const { return newest_; }
  std::size_t count() const { return count_; }

  /// Inside a write transaction; appended() after its commit.
  int put(MDB_txn* txn, StoredTime at, std::string_view row);
  void appended(StoredTime at);

  /// Dropping goes in transactions of a bounded number of pages: the list of freed pages of one
  /// huge deletion needs a run of free pages itself, which a full map does not have. Each returns
  /// the rows dropped.
  Result<std::size_t> drop_before(StoredTime t);
  Result<std::size_t> drop_oldest(std::size_t rows);
  Result<std::size_t> drop_after(StoredTime t);

  /// Rows with from <= at <= to, in order. The view is valid inside the call.
  using Visit = std::function<void(StoredTime at, std::string_view row)>;
  Result<void> scan(StoredTime from, StoredTime to, const Visit& visit);
  /// From the newest row back until `visit` returns false.
  Result<void> scan_back(const std::function<bool(StoredTime, std::string_view)>& visit);

 private:
  enum class Edge { kOldest, kNewest };
  Result<std::size_t> drop(Edge edge,
                           std::size_t limit,
                           const std::function<bool(StoredTime)>& wanted);
  Result<std::size_t> drop_step(Edge edge,
                                std::size_t limit,
                                double max_pages,
                                const std::function<bool(StoredTime)>& wanted,
                                bool& more);
  Result<void> read_edges();

  LmdbEnv& env_;
  MDB_dbi dbi_ = 0;
  std::optional<StoredTime> oldest_, newest_;
  std::size_t count_ = 0;
};

}  // namespace koordlet::store
