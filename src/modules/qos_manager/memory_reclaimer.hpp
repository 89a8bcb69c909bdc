#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "kernel/memory_reclaim.hpp"
#include "policy/memory_soften.hpp"
#include "reactor/worker.hpp"

namespace koordlet {

enum class ReclaimResult {
  kDone,         ///< the kernel freed it
  kPart,         ///< less than asked for, maybe nothing: normal
  kGone,         ///< the cgroup went away
  kUnsupported,  ///< no memory.reclaim here
  kFailed,
};
/// "done", "part", "gone", "unsupported", "failed"
std::string_view to_string(ReclaimResult r);

/// Carries out what MemorySoften asks for, on the reclaim thread, one at a time. An action, not a
/// held value: there is nothing to give back. Loop thread.
class MemoryReclaimer {
 public:
  /// kernel::reclaim_memory, or what stands for it in a test; runs on the worker.
  using Reclaim = std::function<Result<kernel::Reclaimed>(const CgroupPath&, Bytes)>;
  struct Done {
    policy::ReclaimWish wish;
    ReclaimResult result{};
    std::string detail;  ///< what the kernel said; "" after kDone and kPart
  };
  struct Counters {
    std::uint64_t asked = 0, done = 0, part = 0, failed = 0;  ///< failed: all other results
  };

  /// `worker` must outlive the jobs, which its destructor waits for.
  MemoryReclaimer(reactor::Worker& worker, Reclaim reclaim);
  ~MemoryReclaimer();

  /// Starts the wish unless it was started before or another one runs. nullopt: nothing is wanted.
  void submit(const std::optional<policy::ReclaimWish>& wish);
  /// What has ended since the last call.
  std::vector<Done> take();
  bool running() const { return running_; }
  const Counters& counters() const { return counters_; }

 private:
  struct Shared;
  reactor::Worker& worker_;
  Reclaim reclaim_;
  std::shared_ptr<Shared> shared_;
  std::optional<MonoTime> last_;  ///< wish.at of the last one that was started
  bool running_ = false;
  Counters counters_;
};

}  // namespace koordlet
