#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

#include <lmdb.h>

#include "store/lmdb_env.hpp"

namespace koordlet::store {

enum class Edge { kOldest, kNewest };

/// Asked for each key from the edge on, until it says false.
using WantedKey = std::function<bool(std::string_view key)>;

/// Deletes entries from one edge of a database, `limit` at most; returns how many. Goes in
/// transactions of a bounded number of pages: the list of freed pages of one huge deletion needs a
/// run of free pages itself, which a full map does not have.
Result<std::size_t> drop_entries(
    LmdbEnv& env, MDB_dbi dbi, Edge edge, std::size_t limit, const WantedKey& wanted);

/// One such transaction. `more`: it ended at its bound, there may be others.
Result<std::size_t> drop_some_entries(
    LmdbEnv& env, MDB_dbi dbi, Edge edge, std::size_t limit, const WantedKey& wanted, bool& more);

}  // namespace koordlet::store
