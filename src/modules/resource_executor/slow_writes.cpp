#include "modules/resource_executor/slow_writes.hpp"

#include <mutex>
#include <utility>

namespace koordlet::executor {

/// What both threads touch.
struct SlowWrites::Shared {
  std::mutex mutex;
  struct Done {
    std::uint64_t ticket;
    Finished what;
  };
  std::map<std::uint64_t, CgroupKey> waiting;  ///< not begun, by ticket
  std::vector<Done> finished;
};

bool may_block(const CgroupKey& key, const CgroupValue& current, const CgroupValue& desired) {
  if (key.file != CgroupFile::kMemoryHigh && key.file != CgroupFile::kMemoryMax) return false;
  return std::get<MemoryBound>(desired) < std::get<MemoryBound>(current);
}

SlowWrites::SlowWrites(reactor::Worker& worker, kernel::Cgroups& cgroups)
    : worker_{worker}, cgroups_{cgroups}, shared_{std::make_shared<Shared>()} {}

SlowWrites::~SlowWrites() { static_cast<void>(cancel_waiting()); }

void SlowWrites::start(const CgroupKey& key, const CgroupValue& value, MonoTime now) {
  const auto ticket = ++last_ticket_;
  under_way_.insert_or_assign(key, UnderWay{ticket, now});
  {
    const std::lock_guard lock{shared_->mutex};
    shared_->waiting.emplace(ticket, key);
  }
  worker_.post([ticket, key, value, shared = shared_, &cgroups = cgroups_] {
    {
      const std::lock_guard lock{shared->mutex};
      if (shared->waiting.erase(ticket) == 0) return;  // called back meanwhile
    }
    auto result = cgroups.write(key, value);
    const std::lock_guard lock{shared->mutex};
    shared->finished.push_back({ticket, {key, value, std::move(result)}});
  });
}

std::optional<MonoTime> SlowWrites::since(const CgroupKey& key) const {
  const auto at = under_way_.find(key);
  if (at == under_way_.end()) return std::nullopt;
  return at->second.since;
}

std::vector<SlowWrites::Finished> SlowWrites::take() {
  std::vector<Shared::Done> done;
  {
    const std::lock_guard lock{shared_->mutex};
    done.swap(shared_->finished);
  }
  std::vector<Finished> out;
  for (auto& d : done) {
    const auto at = under_way_.find(d.what.key);
    if (at == under_way_.end() || at->second.ticket != d.ticket) continue;  // overtaken
    under_way_.erase(at);
    out.push_back(std::move(d.what));
  }
  return out;
}

void SlowWrites::forget(const CgroupKey& key) { under_way_.erase(key); }

bool SlowWrites::cancel(const CgroupKey& key) {
  const auto at = under_way_.find(key);
  if (at == under_way_.end()) return false;
  const std::lock_guard lock{shared_->mutex};
  if (shared_->waiting.erase(at->second.ticket) == 0) return false;
  under_way_.erase(at);
  return true;
}

std::set<CgroupKey> SlowWrites::cancel_waiting() {
  std::set<CgroupKey> out;
  const std::lock_guard lock{shared_->mutex};
  for (const auto& [ticket, key] : shared_->waiting) {
    const auto at = under_way_.find(key);
    if (at == under_way_.end() || at->second.ticket != ticket) continue;
    under_way_.erase(at);
    out.insert(key);
  }
  shared_->waiting.clear();
  return out;
}

}  // namespace koordlet::executor
