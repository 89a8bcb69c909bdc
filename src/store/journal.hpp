#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/cgroup.hpp"
#include "base/result.hpp"
#include "store/lmdb_env.hpp"

namespace koordlet::store {

/// What koordlet did to one control file, committed before it does it.
struct JournalEntry {
  CgroupKey key;
  std::string original;  ///< canonical text of the value before koordlet came
  std::string previous;  ///< what koordlet wrote last; empty before the first write
  std::string next;      ///< what it is about to write, or wrote
  std::string plugin;
  std::string boot_id;
  std::uint64_t inode = 0;
  friend bool operator==(const JournalEntry&, const JournalEntry&) = default;
};

/// The journal of the state environment. Storage thread only (and `koordlet restore`, when no
/// daemon runs).
class Journal {
 public:
  explicit Journal(LmdbEnv& env);
  /// All intents of a batch and all deletions in one commit.
  Result<void> commit(const std::vector<JournalEntry>& put, const std::vector<CgroupKey>& erase);
  /// A row that cannot be read is dropped and counted, the rest is returned.
  Result<std::vector<JournalEntry>> load(std::size_t* damaged = nullptr);
  Result<void> clear();

 private:
  LmdbEnv& env_;
};

/// What a restart makes of one entry (qos reference 12.6, design section 4). Pure.
enum class Adoption {
  kDrop,        ///< other boot or other inode: the cgroup is not the one we changed
  kOurs,        ///< kernel == next or previous: still our value; original known
  kUntouched,   ///< kernel == original: nothing to undo
  kThirdParty,  ///< somebody else changed it since: their value is the new original
};
/// `kernel_value` canonical, `inode` and `boot_id` as they are now. `kernel == original` wins over
/// `kernel == next` only when next == original.
Adoption classify(const JournalEntry& entry,
                  std::string_view kernel_value,
                  std::uint64_t inode,
                  std::string_view boot_id);

}  // namespace koordlet::store
