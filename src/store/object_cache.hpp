#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "store/lmdb_env.hpp"

namespace koordlet::store {

/// One API object as it is kept for a start without API server.
struct CachedObject {
  std::string kind;  ///< "pods"
  std::string id;    ///< unique within its kind; at most 400 bytes
  std::string text;  ///< JSON
  friend bool operator==(const CachedObject&, const CachedObject&) = default;
};

/// The last good state of the API objects, in the state environment. Storage thread only. It never
/// fills the environment, whose other tenant is the journal: what is larger than `max_bytes` in all
/// is not kept.
class ObjectCache {
 public:
  ObjectCache(LmdbEnv& env, std::uint64_t max_bytes) : env_{env}, max_bytes_{max_bytes} {}

  struct Change {
    std::vector<CachedObject> put;
    std::vector<std::pair<std::string, std::string>> erase;  ///< kind, id
    std::vector<std::string> clear;  ///< kinds that are emptied before `put`
  };
  struct Content {
    std::vector<CachedObject> objects;  ///< by kind and id
    std::int64_t saved_at_ms = 0;       ///< wall clock of the last commit
    std::size_t damaged = 0;            ///< rows that could not be read, left out
  };
  /// All of a change in one commit, stamped with `now_ms`. `owner` names whose objects these are
  /// (server and node): another owner's are dropped first. kRange: more than max_bytes; nothing was
  /// changed.
  Result<void> commit(const std::string& owner, const Change& change, std::int64_t now_ms);
  /// Empty when there is nothing, or it belongs to another owner.
  Result<Content> load(const std::string& owner);

 private:
  LmdbEnv& env_;
  std::uint64_t max_bytes_;
};

}  // namespace koordlet::store
