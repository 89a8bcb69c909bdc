#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include <lmdb.h>

#include "store/cursor.hpp"
#include "store/edge_drop.hpp"
#include "store/seal_format.hpp"
#include "store/seal_key.hpp"

namespace koordlet::store {

/// What memory keeps of a seal.
struct SealInfo {
  StoredTime begin{0}, end{0};  ///< its first and last row
  std::size_t rows = 0;
  std::uint64_t series = 0, samples = 0;
};

/// A seal inside a read transaction, for as long as the visit lasts.
class SealView {
 public:
  SealView(MDB_cursor* cursor, const SealInfo& info, SealHead head)
      : cursor_{cursor}, info_{info}, head_{head} {}
  const SealInfo& info() const { return info_; }
  const SealHead& head() const { return head_; }
  /// Calls `visit` for each of `ids` (rising, no repeats) that the seal holds, in order; one pass
  /// over the groups, those between two ids that are far apart are skipped.
  using Visit = std::function<void(const GroupReader::Entry&)>;
  /// True: nothing was damaged.
  bool find(const std::vector<std::uint32_t>& ids, const Visit& visit);
  /// The same for all series with from <= id <= to.
  bool each(std::uint32_t from, std::uint32_t to, const Visit& visit);

 private:
  struct Group {
    std::uint32_t first = 0;
    std::string_view bytes;
  };
  std::optional<Group> group_of(std::uint32_t id);  ///< that holds `id` if one does
  std::optional<Group> next_group();
  MDB_cursor* cursor_;
  const SealInfo& info_;
  SealHead head_;
};

/// A database of seals in order of time: the groups of a seal by rising id, its head behind them. A
/// seal without a head was not finished and is dropped at the start. Knows nothing of what blocks
/// hold. Keeps `env` by reference.
class SealLog {
 public:
  SealLog(LmdbEnv& env, const char* name) : env_{env}, name_{name} {}
  /// Start-up: opens the database, reads the heads. Returns the seals whose head was damaged (they
  /// go).
  Result<std::size_t> start();

  bool empty() const { return seals_.empty(); }
  const std::deque<SealInfo>& seals() const { return seals_; }
  std::size_t rows() const;

  /// Writes parts of the seal that ends at `at`, by rising id, the head last; one transaction.
  Result<void> put(StoredTime at,
                   const std::vector<GroupBuilder::Group>& groups,
                   std::string_view head);
  void finished(const SealInfo& seal) { seals_.push_back(seal); }
  Result<void> drop_unfinished();

  /// Oldest seals that end before `t`: one transaction of their deletion. Returns the rows of seals
  /// that left the list (a seal leaves it at once, its groups within the next calls).
  Result<std::size_t> drop_some_before(StoredTime t, bool& more);
  Result<std::size_t> drop_before(StoredTime t);
  /// Newest seals that end after `t`.
  Result<std::size_t> drop_after(StoredTime t);

  /// Seals that touch the window, in order, until `visit` returns false. Returns the seals that
  /// could not be read.
  using Visit = std::function<bool(SealView&)>;
  Result<std::size_t> scan(StoredTime from, StoredTime to, const Visit& visit);
  Result<std::size_t> scan_back(const Visit& visit);

 private:
  Result<void> read_heads(MDB_txn* txn, std::size_t& damaged);
  bool visit_seal(MDB_txn* txn,
                  MDB_cursor* cursor,
                  const SealInfo& seal,
                  const Visit& visit,
                  std::size_t& damaged);

  LmdbEnv& env_;
  const char* name_;
  MDB_dbi dbi_ = 0;
  std::deque<SealInfo> seals_;
};

}  // namespace koordlet::store
