#pragma once

#include <string>

#include "model/hook.hpp"
#include "model/node_state.hpp"
#include "policy/hook_values.hpp"

/// From what a runtime and a pod's annotations say to what the policy decides on. Pure.
namespace koordlet::runtime_hooks {

/// A container with its pod: as the state knows it, else as the sandbox says.
struct HookCase {
  const Pod* known = nullptr;  ///< into the state; nullptr: not there (yet)
  Pod own{};                   ///< of the sandbox, when the state does not know it
  Container container{};
  policy::HookAnnotations annotations{};
  const Pod& pod() const { return known != nullptr ? *known : own; }
  policy::HookSubject subject(const HookContainer& given) const {
    return {pod(), container, given, annotations, known != nullptr};
  }
};

/// `as_specified`: the CPU quota that the runtime has of the container is the kubelet's own. Of one
/// that runs it may be divided already, so that only the state's Pod tells the limit.
HookCase make_case(const NodeState& state,
                   const HookPod& pod,
                   const HookContainer& container,
                   bool as_specified);

/// The pod as its sandbox shows it: class by the cgroup's name, batch resources by annotation.
Pod sandbox_pod(const HookPod& pod);

/// Annotations of the pod that concern the container called `container`.
policy::HookAnnotations read_annotations(const Pod& pod, const std::string& container);

/// Batch resources of all containers that annotation extended-resource-spec names; empty without
/// it. kParse: no JSON object, or an amount that is none.
Result<std::vector<Container>> batch_spec(const std::map<std::string, std::string>& annotations);

}  // namespace koordlet::runtime_hooks
