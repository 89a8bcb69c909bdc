#pragma once

#include <optional>
#include <string>

#include <lmdb.h>

#include "store/cursor.hpp"
#include "store/lmdb_env.hpp"

namespace koordlet::test {

/// One text in the database "texts" of an environment.
inline Result<void> put_text(MDB_txn* txn, std::string_view key, std::string_view value) {
  MDB_dbi dbi = 0;
  int rc = mdb_dbi_open(txn, "texts", MDB_CREATE, &dbi);
  auto k = store::to_val(key), v = store::to_val(value);
  if (rc == 0) rc = mdb_put(txn, dbi, &k, &v, 0);
  if (rc != 0) return store::lmdb_error(rc, "put");
  return {};
}

inline Result<void> put_text(store::LmdbEnv& env, std::string_view key, std::string_view value) {
  return env.write([&](MDB_txn* txn) { return put_text(txn, key, value); });
}

inline std::optional<std::string> get_text(store::LmdbEnv& env, std::string_view key) {
  std::optional<std::string> out;
  const auto r = env.read([&](MDB_txn* txn) -> Result<void> {
    MDB_dbi dbi = 0;
    int rc = mdb_dbi_open(txn, "texts", 0, &dbi);
    auto k = store::to_val(key);
    MDB_val v{};
    if (rc == 0) rc = mdb_get(txn, dbi, &k, &v);
    if (rc != 0) return store::lmdb_error(rc, "get");
    out = std::string{store::to_view(v)};
    return {};
  });
  return r ? out : std::nullopt;
}

}  // namespace koordlet::test
