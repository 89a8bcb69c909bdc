#pragma once

#include <optional>
#include <string>
#include <string_view>

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

/// `text` is `prefix` and a UTC time like 20240102T030405Z, perhaps with a number behind it ("-2").
inline bool is_stamped(std::string_view text, std::string_view prefix) {
  constexpr std::string_view kShape = "00000000T000000Z";
  if (!text.starts_with(prefix) || text.size() < prefix.size() + kShape.size()) return false;
  text.remove_prefix(prefix.size());
  for (std::size_t i = 0; i < kShape.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (kShape[i] == '0' ? !digit : text[i] != kShape[i]) return false;
  }
  return text.size() == kShape.size() || text[kShape.size()] == '-';
}

}  // namespace koordlet::test
