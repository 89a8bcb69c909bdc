#include "store/row_log.hpp"

#include <algorithm>

#include "store/cursor.hpp"
#include "store/seal_key.hpp"

namespace koordlet::store {
namespace {

// Keys that are none sort as the oldest: the first drop takes them.
StoredTime time_of(std::string_view key) { return decode_time(key).value_or(StoredTime{0}); }

}  // namespace

Result<void> RowLog::start(MDB_dbi dbi) {
  dbi_ = dbi;
  return read_edges();
}

Result<void> RowLog::read_edges() {
  return env_.read([this](MDB_txn* txn) -> Result<void> {
    MDB_stat stat{};
    int rc = mdb_stat(txn, dbi_, &stat);
    if (rc != 0) return lmdb_error(rc, "rows: count");
    count_ = stat.ms_entries;
    oldest_ = newest_ = std::nullopt;
    if (count_ == 0) return {};
    Cursor cursor;
    if (rc = cursor.open(txn, dbi_); rc != 0) return lmdb_error(rc, "rows: cursor");
    MDB_val key{}, value{};
    if (rc = mdb_cursor_get(cursor.get(), &key, &value, MDB_FIRST); rc == 0) {
      oldest_ = time_of(to_view(key));
      rc = mdb_cursor_get(cursor.get(), &key, &value, MDB_LAST);
    }
    if (rc != 0) return lmdb_error(rc, "rows: read the edges");
    newest_ = time_of(to_view(key));
    return {};
  });
}

int RowLog::put(MDB_txn* txn, StoredTime at, std::string_view row) {
  auto time = encode_time(at);
  MDB_val key{time.size(), time.data()};
  auto value = to_val(row);
  return mdb_put(txn, dbi_, &key, &value, MDB_APPEND);
}

void RowLog::appended(StoredTime at) {
  if (!oldest_) oldest_ = at;
  newest_ = at;
  ++count_;
}

Result<std::size_t> RowLog::drop_before(StoredTime t) {
  if (!oldest_ || *oldest_ >= t) return std::size_t{0};
  return drop(Edge::kOldest, count_, [t](StoredTime at) { return at < t; });
}

Result<std::size_t> RowLog::drop_oldest(std::size_t rows) {
  return drop(Edge::kOldest, rows, [](StoredTime) { return true; });
}

Result<std::size_t> RowLog::drop_after(StoredTime t) {
  if (!newest_ || *newest_ <= t) return std::size_t{0};
  return drop(Edge::kNewest, count_, [t](StoredTime at) { return at > t; });
}

Result<std::size_t> RowLog::drop_some_before(StoredTime t, bool& more) {
  more = false;
  if (!oldest_ || *oldest_ >= t) return std::size_t{0};
  const auto wanted = [t](std::string_view key) { return time_of(key) < t; };
  auto dropped = drop_some_entries(env_, dbi_, Edge::kOldest, count_, wanted, more);
  if (!dropped) return wrap("rows", dropped.error());
  if (auto r = read_edges(); !r) return r.error();
  return dropped;
}

Result<std::size_t> RowLog::drop(Edge edge, std::size_t limit, const WantedTime& wanted) {
  const auto by_key = [&wanted](std::string_view key) { return wanted(time_of(key)); };
  auto total = drop_entries(env_, dbi_, edge, limit, by_key);
  if (!total) return wrap("rows", total.error());
  if (auto r = read_edges(); !r) return r.error();
  return total;
}

Result<void> RowLog::scan(StoredTime from, StoredTime to, const Visit& visit) {
  return scan_while(from, to, [&visit](StoredTime at, std::string_view row) {
    visit(at, row);
    return true;
  });
}

Result<void> RowLog::scan_while(StoredTime from, StoredTime to, const VisitWhile& visit) {
  return env_.read([&](MDB_txn* txn) -> Result<void> {
    Cursor cursor;
    int rc = cursor.open(txn, dbi_);
    if (rc != 0) return lmdb_error(rc, "rows: cursor");
    auto start = encode_time(std::max(from, StoredTime{0}));
    MDB_val key{start.size(), start.data()}, value{};
    for (rc = mdb_cursor_get(cursor.get(), &key, &value, MDB_SET_RANGE); rc == 0;
         rc = mdb_cursor_get(cursor.get(), &key, &value, MDB_NEXT)) {
      const auto at = time_of(to_view(key));
      if (at > to) return {};
      if (!visit(at, to_view(value))) return {};
    }
    return rc == MDB_NOTFOUND ? Result<void>{} : lmdb_error(rc, "rows: scan");
  });
}

Result<void> RowLog::scan_back(const VisitWhile& visit) {
  return env_.read([&](MDB_txn* txn) -> Result<void> {
    Cursor cursor;
    int rc = cursor.open(txn, dbi_);
    if (rc != 0) return lmdb_error(rc, "rows: cursor");
    MDB_val key{}, value{};
    for (rc = mdb_cursor_get(cursor.get(), &key, &value, MDB_LAST); rc == 0;
         rc = mdb_cursor_get(cursor.get(), &key, &value, MDB_PREV)) {
      if (!visit(time_of(to_view(key)), to_view(value))) return {};
    }
    return rc == MDB_NOTFOUND ? Result<void>{} : lmdb_error(rc, "rows: scan");
  });
}

}  // namespace koordlet::store
