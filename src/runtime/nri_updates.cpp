#include "runtime/nri_updates.hpp"

#include <fmt/format.h>

#include "base/parse.hpp"

namespace koordlet::runtime {
namespace {

constexpr std::size_t kShown = 80;

bool is_above_zero(const std::optional<Limit<Bytes>>& limit) {
  return !limit || limit->is_unlimited() || limit->bound()->v > 0;
}

}  // namespace

Result<void> check_resources(const HookResources& r) {
  const auto fault = [](const char* what) { return Error{Errc::kInvalid, std::string{what}}; };
  using std::chrono::microseconds;
  if (r.cpu_quota && !r.cpu_quota->is_unlimited() && *r.cpu_quota->bound() <= microseconds{0})
    return fault("cpu quota: expected one above 0, or unlimited");
  if (r.cpu_period && *r.cpu_period <= microseconds{0})
    return fault("cpu period: expected one above 0");
  if (r.cpus && r.cpus->empty()) return fault("cpus: expected at least one");
  if (r.mems && r.mems->empty()) return fault("mems: expected at least one");
  if (!is_above_zero(r.memory_limit)) return fault("memory limit: expected one above 0");
  if (!is_above_zero(r.memory_swap_limit)) return fault("memory and swap: expected one above 0");
  return {};
}

Result<void> check_updates(const std::vector<HookUpdate>& updates, const std::string& creating) {
  for (const auto& update : updates) {
    if (update.container_id.empty())
      return Error{Errc::kInvalid, "update: expected the id of a container"};
    const auto where = "update of " + printable(update.container_id, kShown);
    if (update.container_id == creating)
      return Error{Errc::kInvalid, where + ": expected an adjustment: it is being created"};
    if (const auto ok = check_resources(update.resources); !ok) return wrap(where, ok.error());
  }
  return {};
}

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
