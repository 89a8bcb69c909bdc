#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include <lmdb.h>

#include "store/edge_drop.hpp"
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

  /// Each returns the rows dropped.
  Result<std::size_t> drop_before(StoredTime t);
  /// One transaction of it. `more`: rows before `t` may be left.
  Result<std::size_t> drop_some_before(StoredTime t, bool& more);
  Result<std::size_t> drop_oldest(std::size_t rows);
  Result<std::size_t> drop_after(StoredTime t);

  /// Rows with from <= at <= to, in order. The view is valid inside the call.
  using Visit = std::function<void(StoredTime at, std::string_view row)>;
  Result<void> scan(StoredTime from, StoredTime to, const Visit& visit);
  /// The same until `visit` returns false.
  using VisitWhile = std::function<bool(StoredTime at, std::string_view row)>;
  Result<void> scan_while(StoredTime from, StoredTime to, const VisitWhile& visit);
  /// From the newest row back until `visit` returns false.
  Result<void> scan_back(const VisitWhile& visit);

 private:
  using WantedTime = std::function<bool(StoredTime)>;
  Result<std::size_t> drop(Edge edge, std::size_t limit, const WantedTime& wanted);
  Result<void> read_edges();

  LmdbEnv& env_;
  MDB_dbi dbi_ = 0;
  std::optional<StoredTime> oldest_, newest_;
  std::size_t count_ = 0;
};

}  // namespace koordlet::store
