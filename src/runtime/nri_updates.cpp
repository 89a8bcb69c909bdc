#include "runtime/nri_updates.hpp"

#include <fmt/format.h>

#include "base/parse.hpp"
#include "runtime/nri_check.hpp"

namespace koordlet::runtime {
namespace {

constexpr std::size_t kShown = 80;

}  // namespace

Result<void> NriUpdates::put(HookUpdate update) {
  if (const auto ok = check_updates({update}); !ok) return ok;
  const auto at = waiting_.find(update.container_id);
  if (at != waiting_.end()) {
    at->second.resources = merged(std::move(at->second.resources), update.resources);
    at->second.ignore_failure = update.ignore_failure;
    return {};
  }
  if (waiting_.size() >= kMost) {
    return Error{Errc::kBusy,
                 fmt::format("update of {}: {} others wait already",
                             printable(update.container_id, kShown),
                             waiting_.size())};
  }
  auto id = update.container_id;
  waiting_.emplace(std::move(id), std::move(update));
  return {};
}

void NriUpdates::forget(const std::string& container_id) { waiting_.erase(container_id); }

std::vector<HookUpdate> NriUpdates::take(std::size_t most) {
  std::vector<HookUpdate> out;
  while (out.size() < most && !waiting_.empty()) {
    out.push_back(std::move(waiting_.begin()->second));
    waiting_.erase(waiting_.begin());
  }
  return out;
}

}  // namespace koordlet::runtime
