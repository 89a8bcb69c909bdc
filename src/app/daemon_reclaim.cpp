#include <fmt/format.h>

#include "app/daemon_impl.hpp"
#include "base/log.hpp"
#include "kernel/memory_reclaim.hpp"

namespace koordlet::app {

void Daemon::open_reclaim() {
  reclaimer_ = std::make_unique<MemoryReclaimer>(
      *reclaim_, [host = config_.host, version = version_](const CgroupPath& cgroup, Bytes amount) {
        return kernel::reclaim_memory(host, version, cgroup, amount);
      });
}

/// What softening asks for beside its limit: carried out on the reclaim thread, told when it is
/// done.
void Daemon::run_reclaim() {
  for (const auto& done : reclaimer_->take()) {
    AuditEvent e;
    e.at = clock_.now();
    e.kind = AuditKind::kReclaim;
    e.after = to_string(done.result);
    e.plugin = policy::MemorySoften::kName;
    e.reason = fmt::format("memory.reclaim of {} bytes from /{}: {}",
                           done.wish.amount.v,
                           done.wish.cgroup.str(),
                           done.wish.reason);
    e.detail = done.detail;
    audit_.add(std::move(e));
    if (done.result == ReclaimResult::kFailed || done.result == ReclaimResult::kUnsupported) {
      log::warn("memory_soften",
                fmt::format("memory.reclaim: {}: {}", to_string(done.result), done.detail));
    }
  }
  if (paused_ || stopping_ || config_.executor.dry_run || !qos_->status().ready) return;
  reclaimer_->submit(qos_->status().memory_soften.reclaim);
}

}  // namespace koordlet::app
