#include <algorithm>

#include "modules/resource_executor/impl.hpp"

namespace koordlet {
namespace {

/// How long a resize takes from the API object to the last control file, either way round.
constexpr std::chrono::minutes kResizeWindow{2};

/// Files that kubelet and the runtime set from a pod's resources.
bool follows_resources(CgroupFile file) {
  switch (file) {
    case CgroupFile::kCpuMax:
    case CgroupFile::kCpuWeight:
    case CgroupFile::kMemoryMin:
    case CgroupFile::kMemoryLow:
    case CgroupFile::kMemoryHigh:
    case CgroupFile::kMemoryMax:
      return true;
    default:
      return false;
  }
}

}  // namespace

void ResourceExecutor::Impl::new_original(KeyState& state, const CgroupValue& value) {
  state.original = value;
  state.row_ok = false;
  rows_behind = true;
}

void ResourceExecutor::Impl::note_resized(const std::vector<CgroupPath>& pods, MonoTime now) {
  for (auto& [key, state] : states) {
    if (!follows_resources(key.file)) continue;
    const bool below = std::any_of(pods.begin(), pods.end(), [&](const CgroupPath& pod) {
      return key.path == pod || pod.is_ancestor_of(key.path);
    });
    if (!below) continue;
    state.resized_at = now;
    // Kubelet may have written before its object told of it: that was no contest.
    if (state.last_foreign && now - state.last_foreign->at <= kResizeWindow) {
      new_original(state, state.last_foreign->value);
      state.contests.clear();
      state.contested = false;
    }
    state.last_foreign.reset();
  }
}

/// True for a value that the owner of a resized pod wrote: what is given back from now on.
bool ResourceExecutor::Impl::owner_wrote(KeyState& state, const CgroupValue& value, MonoTime now) {
  if (!state.resized_at) return false;
  if (now - *state.resized_at > kResizeWindow) {
    state.resized_at.reset();
    return false;
  }
  new_original(state, value);
  return true;
}

}  // namespace koordlet
