#include "store/row_log.hpp"

#include <algorithm>
#include <array>

#include "store/cursor.hpp"

namespace koordlet::store {
namespace {

using TimeKey = std::array<char, 8>;

TimeKey encode_time(StoredTime t) {
  const auto v = static_cast<std::uint64_t>(t.count());
  TimeKey out{};
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<char>(v >> (56 - 8 * i));
  return out;
}

// Keys that are none sort as the oldest: the first drop takes them.
StoredTime decode_time(const MDB_val& key) {
  const auto text = to_view(key);
  if (text.size() != TimeKey{}.size()) return StoredTime{0};
  std::uint64_t v = 0;
  for (const char c : text) v = v << 8 | static_cast<unsigned char>(c);
  return StoredTime{static_cast<std::int64_t>(v)};
}

// The page numbers that one transaction frees stay inside one leaf up to 250 of them.
constexpr double kPagesPerDrop = 200;

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
      oldest_ = decode_time(key);
      rc = mdb_cursor_get(cursor.get(), &key, &value, MDB_LAST);
    }
    if (rc != 0) return lmdb_error(rc, "rows: read the edges");
    newest_ = decode_time(key);
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

Result<std::size_t> RowLog::drop(Edge edge,
                                 std::size_t limit,
                                 const std::function<bool(StoredTime)>& wanted) {
  std::size_t total = 0;
  double max_pages = kPagesPerDrop;
  for (bool more = true; more && total < limit;) {
    const auto step = drop_step(edge, limit - total, max_pages, wanted, more);
    if (step) {
      total += *step;
      continue;
    }
    // A deletion copies the pages it touches: with next to no room only a small one gets through.
    if (!is_map_full(step.error()) || max_pages < 1) return step.error();
    max_pages /= 8;
  }
  if (auto r = read_edges(); !r) return r.error();
  return total;
}

Result<std::size_t> RowLog::drop_step(Edge edge,
                                      std::size_t limit,
                                      double max_pages,
                                      const std::function<bool(StoredTime)>& wanted,
                                      bool& more) {
  const auto page = static_cast<double>(env_.page_size());
  std::size_t rows = 0;
  bool at_end = false;
  auto r = env_.write([&](MDB_txn* txn) -> Result<void> {
    Cursor cursor;
    int rc = cursor.open(txn, dbi_);
    double pages = 0;
    while (rc == 0 && rows < limit && (rows == 0 || pages < max_pages)) {
      MDB_val key{}, value{};
      rc = mdb_cursor_get(cursor.get(), &key, &value, edge == Edge::kOldest ? MDB_FIRST : MDB_LAST);
      if (rc != 0) break;
      if (!wanted(decode_time(key))) {
        at_end = true;
        return {};
      }
      // Rows of up to half a page share a leaf, larger ones have pages of their own.
      const auto share = static_cast<double>(value.mv_size) / page;
      pages += share > 0.5 ? share + 1 : share;
      rc = mdb_cursor_del(cursor.get(), 0);
      if (rc == 0) ++rows;
    }
    if (rc == MDB_NOTFOUND) {
      at_end = true;
      return {};
    }
    return rc == 0 ? Result<void>{} : lmdb_error(rc, "rows: drop");
  });
  if (!r) return r.error();
  more = !at_end;
  return rows;
}

Result<void> RowLog::scan(StoredTime from, StoredTime to, const Visit& visit) {
  return env_.read([&](MDB_txn* txn) -> Result<void> {
    Cursor cursor;
    int rc = cursor.open(txn, dbi_);
    if (rc != 0) return lmdb_error(rc, "rows: cursor");
    auto start = encode_time(std::max(from, StoredTime{0}));
    MDB_val key{start.size(), start.data()}, value{};
    for (rc = mdb_cursor_get(cursor.get(), &key, &value, MDB_SET_RANGE); rc == 0;
         rc = mdb_cursor_get(cursor.get(), &key, &value, MDB_NEXT)) {
      const auto at = decode_time(key);
      if (at > to) return {};
      visit(at, to_view(value));
    }
    return rc == MDB_NOTFOUND ? Result<void>{} : lmdb_error(rc, "rows: scan");
  });
}

Result<void> RowLog::scan_back(const std::function<bool(StoredTime, std::string_view)>& visit) {
  return env_.read([&](MDB_txn* txn) -> Result<void> {
    Cursor cursor;
    int rc = cursor.open(txn, dbi_);
    if (rc != 0) return lmdb_error(rc, "rows: cursor");
    MDB_val key{}, value{};
    for (rc = mdb_cursor_get(cursor.get(), &key, &value, MDB_LAST); rc == 0;
         rc = mdb_cursor_get(cursor.get(), &key, &value, MDB_PREV)) {
      if (!visit(decode_time(key), to_view(value))) return {};
    }
    return rc == MDB_NOTFOUND ? Result<void>{} : lmdb_error(rc, "rows: scan");
  });
}

}  // namespace koordlet::store
