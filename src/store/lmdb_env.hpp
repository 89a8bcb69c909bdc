#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"

struct MDB_env;
struct MDB_txn;

namespace koordlet::store {

/// One LMDB environment in a folder of its own, used from the storage thread only (opened with
/// MDB_NOTLS; no transaction and no view outlives a call). A folder has one owner: a second open,
/// from this process or another, gets kBusy ("<folder>: used by another koordlet").
///
/// Errors of LMDB: a full map is kBusy and is_map_full(); a damaged file or a dead environment is
/// kParse and is_damaged(): open the folder again, which sets a damaged file aside.
class LmdbEnv {
 public:
  struct Options {
    std::string folder;                 ///< made when missing, mode 0700
    std::uint64_t map_size = 64 << 20;  ///< 256 KiB or more, rounded up to pages. May grow from
                                        ///< run to run; never less than what is in use
    unsigned max_dbs = 8;
    bool no_sync = true;  ///< kill -9 keeps the page cache; a power loss may cost the last seconds
  };
  /// A damaged file is moved aside to "<folder>.damaged-<UTC yyyymmddThhmmssZ>" (inside the folder
  /// when that is a mount point) and a fresh one is started; `moved_aside` tells. Nothing is ever
  /// deleted or overwritten. kBusy: used by another koordlet. kDenied: the folder cannot be made or
  /// written.
  static Result<LmdbEnv> open(const Options& options);
  /// Closes `env` and moves its files to "<folder>.<reason>-<UTC time>"; returns the new name.
  static Result<std::string> set_aside(LmdbEnv env, std::string_view reason);
  LmdbEnv(LmdbEnv&&) noexcept;
  LmdbEnv& operator=(LmdbEnv&&) noexcept;
  ~LmdbEnv();

  const std::string& folder() const;
  const std::string& moved_aside() const;   ///< new name of the damaged folder, or empty
  const std::string& aside_reason() const;  ///< what was wrong with it, or empty
  MDB_env* get() const;
  std::uint64_t map_size() const;
  std::uint64_t page_size() const;
  std::uint64_t used_bytes() const;  ///< pages in use x page size; the rest of the map is free
  /// Takes disk blocks for `bytes` of the file, some ahead, and returns how far the file may grow:
  /// map_size(), or less when the disk below is full. So a full disk shows while there is still
  /// room to delete something.
  std::uint64_t reserve(std::uint64_t bytes);
  int reader_slots() const;  ///< readers listed in the lock file: 0 between two calls

  /// Runs `f` in one write transaction: committed when it succeeds, aborted on an error or a throw.
  /// A write inside a write is kInvalid.
  Result<void> write(const std::function<Result<void>(MDB_txn*)>& f);
  Result<void> read(const std::function<Result<void>(MDB_txn*)>& f);
  /// Frees the slots of readers that died (kill -9 of a tool); returns how many.
  int clear_dead_readers();

 private:
  struct Impl;
  explicit LmdbEnv(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Error of one LMDB call: `rc` as it was returned, `action` what was tried ("rows: put").
Error lmdb_error(int rc, std::string_view action);
bool is_map_full(const Error& e);   ///< MDB_MAP_FULL: delete something and try again
bool is_disk_full(const Error& e);  ///< ENOSPC or EDQUOT of the disk below
bool is_damaged(const Error& e);    ///< of a call on an open environment

}  // namespace koordlet::store
