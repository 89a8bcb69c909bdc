#pragma once

#include <memory>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>

#include <lmdb.h>

#include "store/cursor.hpp"
#include "store/lmdb_env.hpp"
#include "store/metric_store.hpp"
#include "support/fake_tree.hpp"
#include "support/lmdb_text.hpp"

namespace koordlet::store {

/// For the words of a failed check.
inline std::ostream& operator<<(std::ostream& os, const TimedValue& v) {
  return os << v.value << " at " << v.at.count();
}

}  // namespace koordlet::store

namespace koordlet::test {

/// A metric store in a private folder, that can be closed, damaged below the store, and reopened.
/// Failures to open throw.
class MetricFolder {
 public:
  explicit MetricFolder(std::uint64_t map_size = 16 << 20,
                        store::MetricStore::Options store_options = {})
      : store_options_{store_options} {
    options_.folder = tree_.path("metrics");
    options_.map_size = map_size;
    reopen();
  }
  store::MetricStore& store() { return *store_; }
  store::LmdbEnv& env() {
    if (!env_) open_env();
    return *env_;
  }
  std::string data_file() const { return options_.folder + "/data.mdb"; }

  void close() {
    store_.reset();
    env_.reset();
  }
  Result<void> try_reopen() {
    close();
    open_env();
    auto opened = store::MetricStore::open(*env_, store_options_);
    if (!opened) return opened.error();
    store_ = std::move(*opened);
    return {};
  }
  void reopen() {
    if (const auto r = try_reopen(); !r) throw std::runtime_error{r.error().context};
  }

  /// Below the store: the folder is closed and opened again when it was not.
  void overwrite(const char* database, std::string_view key, std::string_view value) {
    const auto r = env().write([&](MDB_txn* txn) -> Result<void> {
      MDB_dbi dbi = 0;
      int rc = mdb_dbi_open(txn, database, MDB_CREATE, &dbi);
      auto k = store::to_val(key), v = store::to_val(value);
      if (rc == 0) rc = mdb_put(txn, dbi, &k, &v, 0);
      return rc == 0 ? Result<void>{} : store::lmdb_error(rc, "overwrite");
    });
    if (!r) throw std::runtime_error{r.error().context};
  }
  void overwrite_row(store::StoredTime at, std::string_view row) {
    std::string key(8, '\0');
    for (std::size_t i = 0; i < 8; ++i) key[i] = static_cast<char>(at.count() >> (56 - 8 * i));
    overwrite("rows", key, row);
  }

 private:
  void open_env() {
    auto env = store::LmdbEnv::open(options_);
    if (!env) throw std::runtime_error{env.error().context};
    env_.emplace(std::move(*env));
  }
  FakeTree tree_;
  store::LmdbEnv::Options options_;
  store::MetricStore::Options store_options_;
  std::optional<store::LmdbEnv> env_;
  std::unique_ptr<store::MetricStore> store_;  // goes before env_
};

}  // namespace koordlet::test
