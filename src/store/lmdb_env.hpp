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
/// MDB_NOTLS; no transaction and no view outlives a call). A folder has one owner: a second process
/// gets kBusy ("... is used by another koordlet").
class LmdbEnv {
 public:
  struct Options {
    std::string folder;
    std::uint64_t map_size = 64ull << 20;
    unsigned max_dbs = 8;
    bool no_sync = true;  ///< kill -9 keeps the page cache; a power loss may cost the last seconds
  };
  /// A damaged file is moved aside as "<folder>.damaged-<UTC time>" and a fresh one is started;
  /// `moved_aside` tells.
  static Result<LmdbEnv> open(const Options& options);
  LmdbEnv(LmdbEnv&&) noexcept;
  LmdbEnv& operator=(LmdbEnv&&) noexcept;
  ~LmdbEnv();

  const std::string& moved_aside() const;  ///< new name of the damaged folder, or empty
  MDB_env* get() const;
  std::uint64_t map_size() const;
  std::uint64_t used_bytes() const;  ///< pages in use x page size

  /// Runs `f` in one write transaction: committed when it returns true or a value, aborted on an
  /// error or a throw.
  Result<void> write(const std::function<Result<void>(MDB_txn*)>& f);
  Result<void> read(const std::function<Result<void>(MDB_txn*)>& f);

 private:
  struct Impl;
  explicit LmdbEnv(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace koordlet::store
