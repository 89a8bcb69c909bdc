#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "base/clock.hpp"
#include "kernel/cgroup_fs.hpp"
#include "reactor/worker.hpp"

namespace koordlet::executor {

/// True for a write in which the kernel may reclaim memory for seconds before it returns: a lower
/// memory.high or memory.max (on v1 the limit), 869 ms seen.
bool may_block(const CgroupKey& key, const CgroupValue& current, const CgroupValue& desired);

/// Such writes, on a helper thread: the loop starts them, and picks up what became of them with a
/// later batch. One a key at a time. All calls from the loop thread.
class SlowWrites {
 public:
  struct Finished {
    CgroupKey key;
    CgroupValue value;
    Result<void> result;
  };

  /// `cgroups` belongs to the worker's thread alone from here on. Both must outlive the jobs, which
  /// the worker's destructor waits for.
  SlowWrites(reactor::Worker& worker, kernel::Cgroups& cgroups);
  ~SlowWrites();

  void start(const CgroupKey& key, const CgroupValue& value, MonoTime now);
  /// Since when a write of the key is under way.
  std::optional<MonoTime> since(const CgroupKey& key) const;
  /// What has ended since the last call; without writes that forget() or a later start() has
  /// overtaken.
  std::vector<Finished> take();
  /// The write under way no longer speaks for the key: another has been made past it.
  void forget(const CgroupKey& key);
  /// Drops the write of one key when it has not begun; false when it has, or is none.
  bool cancel(const CgroupKey& key);
  /// Drops what has not begun, and returns its keys: the kernel still has the value before. What
  /// has begun has already set its value in the kernel and cannot be called back.
  std::set<CgroupKey> cancel_waiting();

 private:
  struct Shared;
  struct UnderWay {
    std::uint64_t ticket = 0;
    MonoTime since;
  };
  reactor::Worker& worker_;
  kernel::Cgroups& cgroups_;
  std::shared_ptr<Shared> shared_;
  std::map<CgroupKey, UnderWay> under_way_;
  std::uint64_t last_ticket_ = 0;
};

}  // namespace koordlet::executor
