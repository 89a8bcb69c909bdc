#include "model/hook.hpp"

namespace koordlet {
namespace {

template <class T>
void lay(std::optional<T>& over, const std::optional<T>& newer) {
  if (newer) over = newer;
}

}  // namespace

HookResources merged(HookResources older, const HookResources& newer) {
  lay(older.cpu_shares, newer.cpu_shares);
  lay(older.cpu_quota, newer.cpu_quota);
  lay(older.cpu_period, newer.cpu_period);
  lay(older.cpus, newer.cpus);
  lay(older.mems, newer.mems);
  lay(older.memory_limit, newer.memory_limit);
  lay(older.memory_swap_limit, newer.memory_swap_limit);
  lay(older.rdt_class, newer.rdt_class);
  for (const auto& [file, content] : newer.unified) older.unified[file] = content;
  return older;
}

const char* to_string(HookEvent event) {
  switch (event) {
    case HookEvent::kRunPod:
      return "RunPodSandbox";
    case HookEvent::kStopPod:
      return "StopPodSandbox";
    case HookEvent::kRemovePod:
      return "RemovePodSandbox";
    case HookEvent::kPostCreateContainer:
      return "PostCreateContainer";
    case HookEvent::kStartContainer:
      return "StartContainer";
    case HookEvent::kPostStartContainer:
      return "PostStartContainer";
    case HookEvent::kPostUpdateContainer:
      return "PostUpdateContainer";
    case HookEvent::kRemoveContainer:
      return "RemoveContainer";
  }
  return "unknown";
}

}  // namespace koordlet
