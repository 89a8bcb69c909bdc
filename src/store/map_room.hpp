#pragma once

#include <cstdint>

#include "store/lmdb_env.hpp"

namespace koordlet::store {

/// How much of the map may still be filled. A sixteenth of it (24 to 512 pages) is never given to
/// data: a deletion copies what it touches before it frees anything.
class MapRoom {
 public:
  explicit MapRoom(LmdbEnv& env) : env_{env} {}
  bool has(std::uint64_t bytes) const;
  /// More than four fifths are in use: time to expire before it is full.
  bool is_short() const;

 private:
  LmdbEnv& env_;
};

}  // namespace koordlet::store
