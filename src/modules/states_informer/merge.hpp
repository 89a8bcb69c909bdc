#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kernel/cgroup_layout.hpp"
#include "model/node_state.hpp"
#include "modules/states_informer/manifest_file.hpp"

namespace koordlet::states {

/// The node's objects out of all files.
struct Merged {
  std::shared_ptr<const Node> node;
  std::vector<std::shared_ptr<const Pod>> pods;  ///< sorted by uid, cgroup paths set
  std::shared_ptr<const NodeSlo> slo;
  std::vector<std::string> faults;
  /// False while a file that holds such an object could not be read: the object is an earlier one.
  bool pods_confirmed = true;
  bool node_confirmed = true;
  bool slo_confirmed = true;
};

/// Files count in the order of their names. Node and NodeSLO: the one named like the node, or the
/// only one. Pods: those without spec.nodeName or with that of this node; of two with one uid (or
/// one cgroup) the first is taken. `node_name` empty: the name of the only Node; without it all
/// pods count.
///
/// Objects that equal those of `previous` are the same pointers. Without `layout` the pods' cgroup
/// is the root, and no container has one: nothing is guessed.
Merged merge(const std::map<std::string, ManifestFile>& files,
             const std::string& node_name,
             const std::optional<kernel::CgroupLayout>& layout,
             const NodeState& previous);

}  // namespace koordlet::states
