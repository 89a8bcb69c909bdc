#include "modules/qos_manager/memory_reclaimer.hpp"

#include <mutex>
#include <utility>

namespace koordlet {
namespace {

ReclaimResult result_of(const Result<kernel::Reclaimed>& done) {
  if (done) return *done == kernel::Reclaimed::kAll ? ReclaimResult::kDone : ReclaimResult::kPart;
  switch (done.error().code) {
    case Errc::kNotFound:
    case Errc::kGone:
      return ReclaimResult::kGone;
    case Errc::kNotSupported:
      return ReclaimResult::kUnsupported;
    default:
      return ReclaimResult::kFailed;
  }
}

}  // namespace

std::string_view to_string(ReclaimResult r) {
  switch (r) {
    case ReclaimResult::kDone:
      return "done";
    case ReclaimResult::kPart:
      return "part";
    case ReclaimResult::kGone:
      return "gone";
    case ReclaimResult::kUnsupported:
      return "unsupported";
    case ReclaimResult::kFailed:
      return "failed";
  }
  return "?";
}

/// What both threads touch.
struct MemoryReclaimer::Shared {
  std::mutex mutex;
  std::vector<Done> done;
};

MemoryReclaimer::MemoryReclaimer(reactor::Worker& worker, Reclaim reclaim)
    : worker_{worker}, reclaim_{std::move(reclaim)}, shared_{std::make_shared<Shared>()} {}

MemoryReclaimer::~MemoryReclaimer() = default;

void MemoryReclaimer::submit(const std::optional<policy::ReclaimWish>& wish) {
  if (!wish || running_ || wish->at == last_) return;
  last_ = wish->at;
  running_ = true;
  ++counters_.asked;
  worker_.post([wish = *wish, reclaim = reclaim_, shared = shared_] {
    const auto done = reclaim(wish.cgroup, wish.amount);
    Done out{wish, result_of(done), done ? std::string{} : done.error().context};
    const std::lock_guard lock{shared->mutex};
    shared->done.push_back(std::move(out));
  });
}

std::vector<MemoryReclaimer::Done> MemoryReclaimer::take() {
  std::vector<Done> out;
  {
    const std::lock_guard lock{shared_->mutex};
    out.swap(shared_->done);
  }
  for (const auto& d : out) {
    running_ = false;
    if (d.result == ReclaimResult::kDone) {
      ++counters_.done;
    } else if (d.result == ReclaimResult::kPart) {
      ++counters_.part;
    } else {
      ++counters_.failed;
    }
  }
  return out;
}

}  // namespace koordlet
