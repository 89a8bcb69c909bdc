#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "base/clock.hpp"
#include "kernel/cgroup_fs.hpp"
#include "model/proposal.hpp"
#include "model/unit_owner.hpp"
#include "reactor/worker.hpp"
#include "store/journal.hpp"

namespace koordlet {

/// Brings the kernel's control files to the desired table and back: compare, order parent/child,
/// journal, write in batches, verify, restore. All on the loop thread but the journal commits
/// (storage thread).
class ResourceExecutor {
 public:
  struct Config {
    bool dry_run = false;
    int batch_size = 100;          ///< writes between two yields to the loop
    int contested_per_minute = 3;  ///< more foreign rewrites than this: shown as contested
    std::chrono::milliseconds retry_first{
        100};  ///< back-off of transient errors, doubled up to retry_max
    std::chrono::milliseconds retry_max{10'000};
  };
  /// How koordlet holds one file now; for status, explain and restore.
  struct Held {
    CgroupKey key;
    std::string original;  ///< canonical
    std::string value;     ///< what we want
    std::string kernel;    ///< what was read last
    std::string plugin, reason;
    MonoTime since;
    std::optional<Outcome> last;  ///< last outcome that was not "unchanged"
    std::uint64_t foreign_writes = 0;
    bool contested = false;
    std::vector<Proposal> losers;
  };
  struct Counters {
    std::uint64_t batches = 0, writes = 0, unchanged = 0, refused = 0, gone = 0, unsupported = 0,
                  foreign = 0, restored = 0, journal_failures = 0;
    std::chrono::microseconds last_batch{0}, last_commit{0};
  };

  /// `journal` and `storage` may be nullptr (no state environment): originals live in memory only,
  /// shown in status.
  ResourceExecutor(Config config,
                   kernel::Cgroups& cgroups,
                   store::Journal* journal,
                   reactor::Worker* storage,
                   const Clock& clock,
                   std::string boot_id);
  ~ResourceExecutor();

  /// Writes that may block in the kernel (a lower memory.high or memory.max) go to `reclaim`; until
  /// they return their outcome is kPending with its age. `cgroups` is for that thread alone. Both
  /// outlive the executor. Without it such writes run on the loop.
  void use_reclaim_thread(reactor::Worker& reclaim, kernel::Cgroups& cgroups);

  /// Tells systemd what the files of its units hold, so that it puts nothing back. `units` outlives
  /// the executor. Without it only the files are written.
  void use_unit_owner(UnitOwner& units);

  /// Start: what earlier runs left in the journal, classified against the kernel. Ours stay held
  /// with their originals until the first apply(); third-party and dropped rows are erased. Returns
  /// the held files.
  boost::asio::awaitable<Result<std::vector<Held>>> adopt();

  /// One batch: files in `desired` get their value, files held but no longer desired get their
  /// original back and leave the journal. Every held file is read (verified). One apply at a time.
  boost::asio::awaitable<std::vector<Outcome>> apply(const DesiredTable& desired, MonoTime now);

  /// These pods (their cgroups) were resized in place: values that others write into their files of
  /// CPU and memory within 2 minutes, before or after, are kubelet's. They become the originals and
  /// are no contest.
  void note_resized(const std::vector<CgroupPath>& pods, MonoTime now);

  /// Everything back to its original, synchronously, without waiting for the storage thread
  /// (SIGTERM, disable).
  std::vector<Outcome> restore_all();

  std::vector<Held> held() const;
  std::optional<Held> find(const CgroupKey& key) const;  ///< nullopt: not held
  const Counters& counters() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// One planned write. Pure planning: no I/O.
struct PlannedWrite {
  CgroupKey key;
  CgroupValue value;
  int pass = 1;
};
struct Change {
  CgroupKey key;
  CgroupValue current;
  CgroupValue desired;
  int order = 0;  ///< Desired::order
};
/// Order of writes such that the kernel accepts each (reference cgroups-and-executor 7.5): grow
/// parent first, shrink child first; cpusets that move pass through the union; v2 cpu.max: by
/// `order` alone (the kernel sets no rule).
std::vector<PlannedWrite> plan_writes(CgroupVersion version, std::vector<Change> changes);

/// `koordlet restore` without a daemon: every journal entry of ours back to its original. Returns
/// one outcome an entry. `units`, when given, is told what the files hold then, and has send()
/// called.
Result<std::vector<Outcome>> restore_from_journal(kernel::Cgroups& cgroups,
                                                  store::Journal& journal,
                                                  std::string_view boot_id,
                                                  bool dry_run,
                                                  UnitOwner* units = nullptr);

}  // namespace koordlet
