#include <string>

#include "fuzz.hpp"
#include "modules/runtime_hooks/hook_case.hpp"

namespace {

constexpr const char* kKeys[] = {"node.koordinator.sh/extended-resource-spec",
                                 "scheduling.koordinator.sh/resource-status",
                                 "scheduling.koordinator.sh/device-allocated",
                                 "koordinator.sh/oom-score-adj-spec",
                                 "koordinator.sh/oom-score-adj"};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace koordlet;
  using namespace koordlet::fuzz;
  const auto text = std::string{text_of(data, size)};
  Pod pod;
  for (const auto* key : kKeys) pod.annotations[key] = text;
  const auto out = runtime_hooks::read_annotations(pod, "main");
  static_cast<void>(out);
  if (const auto containers = runtime_hooks::batch_spec(pod.annotations)) {
    for (const auto& container : *containers)
      require(!container.name.empty(), "a container has a name");
  }
  HookPod sandbox;
  sandbox.annotations = pod.annotations;
  sandbox.uid = "uid-1";
  sandbox.cgroup_parent = CgroupPath::parse("kubepods/besteffort/poduid-1").value();
  static_cast<void>(runtime_hooks::sandbox_pod(sandbox));
  return 0;
}
