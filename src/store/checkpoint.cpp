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

}  // namespace

Result<void> Checkpoints::put(const std::string& name, std::string_view text) {
  if (name.empty() || name.size() > kMaxName || text.size() > kMaxBytes) {
    return Error{Errc::kRange,
                 fmt::format("checkpoint '{}': {} bytes: expected a name of 1 to {} bytes and at "
                             "most {} bytes of text",
                             name.substr(0, 64),
                             text.size(),
                             kMaxName,
                             kMaxBytes)};
  }
  return env_.write([&](MDB_txn* txn) -> Result<void> {
    MDB_dbi dbi = 0;
    int rc = mdb_dbi_open(txn, kDatabase, MDB_CREATE, &dbi);
    if (rc != 0) return lmdb_error(rc, "checkpoints: open");
    const auto row = encode_checked(text);
    auto k = to_val(name), v = to_val(row);
    rc = mdb_put(txn, dbi, &k, &v, 0);
    return rc == 0 ? Result<void>{} : lmdb_error(rc, "checkpoints: put");
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

}  // namespace koordlet::store
