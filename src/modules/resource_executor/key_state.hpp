#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "modules/resource_executor/resource_executor.hpp"

namespace koordlet::executor {

/// The value that the kernel shows after `value` was written: memory in whole pages, v1 shares
/// within 2..262144. Compared with what is read, so that no file is rewritten for ever.
CgroupValue as_read_back(CgroupVersion version, CgroupFile file, const CgroupValue& value);

/// The weight that the kernel shows while cpu.idle is 1.
CgroupValue weight_under_idle(CgroupVersion version);

/// True for the value that kubelet puts back once a minute into the weight of the BE class.
bool is_kubelet_be_weight(CgroupVersion version, const CgroupKey& key, const CgroupValue& value);

/// What stands in for an empty cpuset that a populated cgroup may not be given back: the list of
/// the nearest ancestor that has one, else all CPUs of the machine. nullopt for any other value.
std::optional<CgroupValue> widest_cpuset(kernel::Cgroups& cgroups,
                                         const CgroupKey& key,
                                         const CgroupValue& value);

/// True for files that systemd puts back to the unit's own value, in a cgroup of systemd.
bool is_unit_property(const CgroupKey& key);

/// True when `found` is what systemd makes of the quota `written` when it reads its notes again
/// (daemon-reload): it notes whole percent of a CPU, the rest is cut off (252).
bool is_unit_rounding(const CgroupKey& key, const CgroupValue& written, const CgroupValue& found);

/// The same for what a journal row says koordlet wrote.
bool is_unit_rounding(const store::JournalEntry& entry, const CgroupValue& found);

/// What a failed write means for the next tries.
enum class Failure {
  kGone,         ///< the cgroup went away
  kTransient,    ///< again, with back-off
  kRefused,      ///< not again with this value under this parent
  kUnsupported,  ///< not again with this value
};
Failure classify_failure(CgroupVersion version, CgroupFile file, Errc code);
OutcomeKind outcome_of(Failure why);

/// Why a key is not written now, and until when.
struct Block {
  Failure why = Failure::kTransient;
  std::string error;
  CgroupValue value;                  ///< the value that failed
  std::optional<CgroupValue> parent;  ///< the same file of the parent, as it was then
  MonoTime until;                     ///< tried again from here on
  int attempts = 1;                   ///< transient failures in a row
};

/// Everything known of one held file.
struct KeyState {
  CgroupValue wanted;       ///< as read back; compared with the kernel
  std::string wanted_text;  ///< canonical, of the wish as it came
  CgroupValue original;
  kernel::Inode inode = 0;
  std::optional<CgroupValue> written;  ///< what koordlet put there last; empty: never touched
  /// `written` as it was before a write that is still under way on the reclaim thread.
  std::optional<CgroupValue> written_before;
  CgroupValue kernel;  ///< read last
  std::string plugin, reason;
  MonoTime since;
  int order = 0;
  std::vector<Proposal> losers;
  std::optional<Outcome> last;
  std::optional<Block> block;

  struct Foreign {
    CgroupValue value;
    MonoTime at;
  };
  std::optional<Foreign> last_foreign;
  std::optional<MonoTime> resized_at;  ///< its pod was resized in place: kubelet writes new values
  std::uint64_t foreign_writes = 0;
  std::vector<MonoTime> contests;         ///< foreign writes of the last minute that count
  std::optional<MonoTime> yielded_until;  ///< the cpuset is left to the other writer
  bool contested = false;

  std::string row_previous, row_next;  ///< the journal row, when row_ok
  bool row_ok = false;
  std::uint64_t seen = 0;  ///< batch that wanted it last
};

/// Books a foreign value; true when it counts as contest. `limit` a minute.
bool note_foreign(KeyState& state,
                  CgroupVersion version,
                  const CgroupKey& key,
                  const CgroupValue& found,
                  int limit,
                  MonoTime now);

/// Drops contests older than a minute, and the mark when few enough are left.
void age_contests(KeyState& state, int limit, MonoTime now);

}  // namespace koordlet::executor
