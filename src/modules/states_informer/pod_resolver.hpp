#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernel/cgroup_layout.hpp"
#include "model/pod.hpp"

namespace koordlet::states {

/// Gives pods their cgroup paths. Without `layout` the pods' cgroup is the root, and no container
/// has one: nothing is guessed. `where` names the source in faults. What cannot be a path is a
/// fault.
Pod resolve_paths(Pod pod,
                  const std::optional<kernel::CgroupLayout>& layout,
                  const std::string& where,
                  std::vector<std::string>& faults);

/// Lets each uid, and each cgroup, have one pod only: the first that claims it.
class PodClaims {
 public:
  /// False: somebody else has it, and a fault says who.
  bool claim(const Pod& pod, const std::string& where, std::vector<std::string>& faults);

 private:
  std::map<std::string, std::string> owners_;  // uid or cgroup uid -> pod and where it stands
};

}  // namespace koordlet::states
