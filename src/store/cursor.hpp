#pragma once

#include <string_view>

#include <lmdb.h>

namespace koordlet::store {

/// Closes before its transaction ends: declare it inside the function given to LmdbEnv.
class Cursor {
 public:
  Cursor() = default;
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;
  ~Cursor() {
    if (cursor_ != nullptr) mdb_cursor_close(cursor_);
  }
  int open(MDB_txn* txn, MDB_dbi dbi) { return mdb_cursor_open(txn, dbi, &cursor_); }
  MDB_cursor* get() const { return cursor_; }

 private:
  MDB_cursor* cursor_ = nullptr;
};

inline MDB_val to_val(std::string_view s) { return {s.size(), const_cast<char*>(s.data())}; }
/// Valid inside the transaction only.
inline std::string_view to_view(const MDB_val& v) {
  return {static_cast<const char*>(v.mv_data), v.mv_size};
}

}  // namespace koordlet::store
