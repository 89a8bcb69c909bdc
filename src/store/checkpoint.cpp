#include "store/checkpoint.hpp"

#include <fmt/format.h>
#include <lmdb.h>

#include "store/checked_text.hpp"
#include "store/cursor.hpp"

// On disk: database "checkpoints", key <name>, value as in checked_text.hpp.
namespace koordlet::store {
namespace {

constexpr const char* kDatabase = "checkpoints";
constexpr std::size_t kMaxName = 200;

Error damaged(const std::string& name) {
  return {Errc::kParse, fmt::format("checkpoint '{}': damaged", name)};
}

Result<void> check(const std::string& name, std::size_t bytes) {
  if (!name.empty() && name.size() <= kMaxName && bytes <= Checkpoints::kMaxBytes) return {};
  return Error{Errc::kRange,
               fmt::format("checkpoint '{}': {} bytes: expected a name of 1 to {} bytes and at "
                           "most {} bytes of text",
                           name.substr(0, 64),
                           bytes,
                           kMaxName,
                           Checkpoints::kMaxBytes)};
}

}  // namespace

Result<void> Checkpoints::put(const std::string& name, std::string_view text) {
  // Looked at before it is copied: what is refused may be large.
  if (auto ok = check(name, text.size()); !ok) return ok;
  return apply({{name, std::string{text}}});
}

Result<void> Checkpoints::erase(const std::string& name) { return apply({{name, std::nullopt}}); }

Result<void> Checkpoints::apply(const std::vector<Change>& changes) {
  for (const auto& c : changes) {
    if (auto ok = check(c.name, c.text ? c.text->size() : 0); !ok) return ok;
  }
  return env_.write([&](MDB_txn* txn) -> Result<void> {
    MDB_dbi dbi = 0;
    int rc = mdb_dbi_open(txn, kDatabase, MDB_CREATE, &dbi);
    if (rc != 0) return lmdb_error(rc, "checkpoints: open");
    for (const auto& c : changes) {
      auto k = to_val(c.name);
      if (!c.text) {
        rc = mdb_del(txn, dbi, &k, nullptr);
        if (rc != 0 && rc != MDB_NOTFOUND) return lmdb_error(rc, "checkpoints: erase");
        continue;
      }
      const auto row = encode_checked(*c.text);
      auto v = to_val(row);
      rc = mdb_put(txn, dbi, &k, &v, 0);
      if (rc != 0) return lmdb_error(rc, "checkpoints: put");
    }
    return {};
  });
}

Result<std::optional<std::string>> Checkpoints::get(const std::string& name) {
  std::optional<std::string> out;
  const auto r = env_.read([&](MDB_txn* txn) -> Result<void> {
    MDB_dbi dbi = 0;
    int rc = mdb_dbi_open(txn, kDatabase, 0, &dbi);
    if (rc == MDB_NOTFOUND) return {};
    if (rc != 0) return lmdb_error(rc, "checkpoints: open");
    auto k = to_val(name);
    MDB_val v{};
    rc = mdb_get(txn, dbi, &k, &v);
    if (rc == MDB_NOTFOUND) return {};
    if (rc != 0) return lmdb_error(rc, "checkpoints: get");
    const auto text = decode_checked(to_view(v));
    if (!text) return damaged(name);
    out = std::string{*text};
    return {};
  });
  if (!r) return r.error();
  return out;
}

Result<std::vector<std::string>> Checkpoints::names(const std::string& prefix) {
  std::vector<std::string> out;
  const auto r = env_.read([&](MDB_txn* txn) -> Result<void> {
    MDB_dbi dbi = 0;
    int rc = mdb_dbi_open(txn, kDatabase, 0, &dbi);
    if (rc == MDB_NOTFOUND) return {};
    if (rc != 0) return lmdb_error(rc, "checkpoints: open");
    Cursor cursor;
    rc = cursor.open(txn, dbi);
    if (rc != 0) return lmdb_error(rc, "checkpoints: cursor");
    auto k = to_val(prefix);
    MDB_val v{};
    // LMDB refuses an empty key: the first row begins the whole list.
    auto op = prefix.empty() ? MDB_FIRST : MDB_SET_RANGE;
    while ((rc = mdb_cursor_get(cursor.get(), &k, &v, op)) == 0) {
      const auto name = to_view(k);
      if (!name.starts_with(prefix)) return {};
      out.emplace_back(name);
      op = MDB_NEXT;
    }
    return rc == MDB_NOTFOUND ? Result<void>{} : lmdb_error(rc, "checkpoints: list");
  });
  if (!r) return r.error();
  return out;
}

}  // namespace koordlet::store
