#include "store/object_cache.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <lmdb.h>

#include "base/parse.hpp"
#include "store/checked_text.hpp"
#include "store/cursor.hpp"

// On disk: database "objects". Key "<kind>\0<id>", value as in checked_text.hpp. The
// key "\0" holds "v1\n<owner>\n<saved at, ms>\n".
namespace koordlet::store {
namespace {

constexpr const char* kDatabase = "objects";
constexpr std::string_view kVersion = "v1\n";
constexpr std::string_view kStampKey{"\0", 1};
constexpr std::size_t kMaxId = 400;

std::string row_key(std::string_view kind, std::string_view id) {
  std::string out{kind};
  out += '\0';
  out += id;
  return out;
}

struct Stamp {
  std::string owner;
  std::int64_t saved_at_ms = 0;
};

std::optional<Stamp> decode_stamp(std::string_view row) {
  if (!row.starts_with(kVersion)) return std::nullopt;
  row.remove_prefix(kVersion.size());
  const auto owner = next_line(row);
  const auto at = next_line(row);
  if (!owner || !at) return std::nullopt;
  const auto ms = parse_i64(*at);
  if (!ms) return std::nullopt;
  return Stamp{std::string{*owner}, *ms};
}

Result<std::optional<Stamp>> read_stamp(MDB_txn* txn, MDB_dbi dbi) {
  auto k = to_val(kStampKey);
  MDB_val v{};
  const int rc = mdb_get(txn, dbi, &k, &v);
  if (rc == MDB_NOTFOUND) return std::optional<Stamp>{};
  if (rc != 0) return lmdb_error(rc, "objects: stamp");
  return decode_stamp(to_view(v));
}

Result<void> put(MDB_txn* txn, MDB_dbi dbi, std::string_view key, std::string_view row) {
  auto k = to_val(key), v = to_val(row);
  const int rc = mdb_put(txn, dbi, &k, &v, 0);
  return rc == 0 ? Result<void>{} : lmdb_error(rc, "objects: put");
}

Result<void> clear_kind(MDB_txn* txn, MDB_dbi dbi, const std::string& kind) {
  const auto prefix = row_key(kind, "");
  Cursor cursor;
  int rc = cursor.open(txn, dbi);
  if (rc != 0) return lmdb_error(rc, "objects: cursor");
  auto k = to_val(prefix);
  MDB_val v{};
  rc = mdb_cursor_get(cursor.get(), &k, &v, MDB_SET_RANGE);
  while (rc == 0 && to_view(k).starts_with(prefix)) {
    rc = mdb_cursor_del(cursor.get(), 0);
    // After a delete the cursor stands on the next row already.
    if (rc == 0) rc = mdb_cursor_get(cursor.get(), &k, &v, MDB_GET_CURRENT);
  }
  // EINVAL: the last row of all was deleted, the cursor stands nowhere.
  return rc == 0 || rc == MDB_NOTFOUND || rc == EINVAL ? Result<void>{}
                                                       : lmdb_error(rc, "objects: clear");
}

Result<void> check(const ObjectCache::Change& change, const std::string& owner) {
  const auto bad = [](std::string_view id) {
    return id.empty() || id.size() > kMaxId || id.find('\0') != std::string_view::npos;
  };
  for (const auto& o : change.put) {
    if (bad(o.id) || bad(o.kind)) {
      return Error{Errc::kRange,
                   fmt::format("objects: {} '{}': expected an id of 1 to {} bytes",
                               o.kind,
                               o.id.substr(0, 64),
                               kMaxId)};
    }
  }
  if (owner.empty() || owner.find('\n') != std::string::npos) {
    return Error{Errc::kRange, fmt::format("objects: owner '{}': expected one line", owner)};
  }
  return {};
}

}  // namespace

Result<void> ObjectCache::commit(const std::string& owner,
                                 const Change& change,
                                 std::int64_t now_ms) {
  if (auto ok = check(change, owner); !ok) return ok;
  return env_.write([&](MDB_txn* txn) -> Result<void> {
    MDB_dbi dbi = 0;
    int rc = mdb_dbi_open(txn, kDatabase, MDB_CREATE, &dbi);
    if (rc != 0) return lmdb_error(rc, "objects: open");
    const auto stamp = read_stamp(txn, dbi);
    if (!stamp) return stamp.error();
    if (*stamp && (*stamp)->owner != owner) {
      if (rc = mdb_drop(txn, dbi, 0); rc != 0) return lmdb_error(rc, "objects: drop");
    }
    for (const auto& kind : change.clear) {
      if (auto r = clear_kind(txn, dbi, kind); !r) return r;
    }
    for (const auto& [kind, id] : change.erase) {
      const auto key = row_key(kind, id);
      auto k = to_val(key);
      rc = mdb_del(txn, dbi, &k, nullptr);
      if (rc != 0 && rc != MDB_NOTFOUND) return lmdb_error(rc, "objects: delete");
    }
    for (const auto& o : change.put) {
      if (auto r = put(txn, dbi, row_key(o.kind, o.id), encode_checked(o.text)); !r) return r;
    }
    if (auto r = put(txn, dbi, kStampKey, fmt::format("{}{}\n{}\n", kVersion, owner, now_ms)); !r)
      return r;
    MDB_stat stat{};
    if (rc = mdb_stat(txn, dbi, &stat); rc != 0) return lmdb_error(rc, "objects: size");
    const auto pages = stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages;
    if (pages * stat.ms_psize <= max_bytes_) return {};
    return Error{
        Errc::kRange,
        fmt::format(
            "objects: {} bytes: expected at most {}: not kept", pages * stat.ms_psize, max_bytes_)};
  });
}

Result<ObjectCache::Content> ObjectCache::load(const std::string& owner) {
  Content out;
  auto r = env_.read([&](MDB_txn* txn) -> Result<void> {
    MDB_dbi dbi = 0;
    int rc = mdb_dbi_open(txn, kDatabase, 0, &dbi);
    if (rc == MDB_NOTFOUND) return {};
    if (rc != 0) return lmdb_error(rc, "objects: open");
    const auto stamp = read_stamp(txn, dbi);
    if (!stamp) return stamp.error();
    if (!*stamp || (*stamp)->owner != owner) return {};
    out.saved_at_ms = (*stamp)->saved_at_ms;
    Cursor cursor;
    if (rc = cursor.open(txn, dbi); rc != 0) return lmdb_error(rc, "objects: cursor");
    MDB_val k{}, v{};
    while ((rc = mdb_cursor_get(cursor.get(), &k, &v, MDB_NEXT)) == 0) {
      const auto key = to_view(k);
      if (key == kStampKey) continue;
      const auto border = key.find('\0');
      const auto text = decode_checked(to_view(v));
      if (border == std::string_view::npos || !text) {
        ++out.damaged;
        continue;
      }
      out.objects.push_back({std::string{key.substr(0, border)},
                             std::string{key.substr(border + 1)},
                             std::string{*text}});
    }
    return rc == MDB_NOTFOUND ? Result<void>{} : lmdb_error(rc, "objects: read");
  });
  if (!r) return r.error();
  return out;
}

}  // namespace koordlet::store
