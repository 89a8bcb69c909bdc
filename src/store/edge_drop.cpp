#include "store/edge_drop.hpp"

#include "store/cursor.hpp"

namespace koordlet::store {
namespace {

// The page numbers that one transaction frees stay inside one leaf up to 250 of them.
constexpr double kPagesPerDrop = 200;

Result<std::size_t> drop_step(LmdbEnv& env,
                              MDB_dbi dbi,
                              Edge edge,
                              std::size_t limit,
                              double max_pages,
                              const WantedKey& wanted,
                              bool& more) {
  const auto page = static_cast<double>(env.page_size());
  std::size_t entries = 0;
  bool at_end = false;
  auto r = env.write([&](MDB_txn* txn) -> Result<void> {
    Cursor cursor;
    int rc = cursor.open(txn, dbi);
    double pages = 0;
    while (rc == 0 && entries < limit && (entries == 0 || pages < max_pages)) {
      MDB_val key{}, value{};
      rc = mdb_cursor_get(cursor.get(), &key, &value, edge == Edge::kOldest ? MDB_FIRST : MDB_LAST);
      if (rc != 0) break;
      if (!wanted(to_view(key))) {
        at_end = true;
        return {};
      }
      // Values of up to half a page share a leaf, larger ones have pages of their own.
      const auto share = static_cast<double>(value.mv_size) / page;
      pages += share > 0.5 ? share + 1 : share;
      rc = mdb_cursor_del(cursor.get(), 0);
      if (rc == 0) ++entries;
    }
    if (rc == MDB_NOTFOUND) {
      at_end = true;
      return {};
    }
    return rc == 0 ? Result<void>{} : lmdb_error(rc, "drop");
  });
  if (!r) return r.error();
  more = !at_end;
  return entries;
}

}  // namespace

Result<std::size_t> drop_some_entries(
    LmdbEnv& env, MDB_dbi dbi, Edge edge, std::size_t limit, const WantedKey& wanted, bool& more) {
  for (double max_pages = kPagesPerDrop;; max_pages /= 8) {
    auto step = drop_step(env, dbi, edge, limit, max_pages, wanted, more);
    // A deletion copies the pages it touches: with next to no room only a small one gets through.
    if (step || !is_map_full(step.error()) || max_pages < 1) return step;
  }
}

Result<std::size_t> drop_entries(
    LmdbEnv& env, MDB_dbi dbi, Edge edge, std::size_t limit, const WantedKey& wanted) {
  std::size_t total = 0;
  for (bool more = true; more && total < limit;) {
    const auto step = drop_some_entries(env, dbi, edge, limit - total, wanted, more);
    if (!step) return step;
    total += *step;
  }
  return total;
}

}  // namespace koordlet::store
