#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "model/node.hpp"
#include "model/node_metric.hpp"
#include "model/node_slo.hpp"
#include "model/pod.hpp"

namespace koordlet {

/// Everything that is known from outside about this node. Made by StatesInformer, replaced whole,
/// never changed.
struct NodeState {
  std::uint64_t version = 0;                     ///< rises with each replacement
  std::shared_ptr<const Node> node;              ///< nullptr: not known yet
  std::vector<std::shared_ptr<const Pod>> pods;  ///< sorted by uid, uids unique
  std::shared_ptr<const NodeSlo> slo;            ///< nullptr: no NodeSLO object
  std::shared_ptr<const NodeMetricSpec> metric;  ///< nullptr: no NodeMetric object
  /// When the source last confirmed each of them; MonoTime{}: not known yet, which is not "empty".
  MonoTime pods_at;
  MonoTime node_at;
  MonoTime slo_at;
  MonoTime metric_at;
  std::vector<std::string>
      faults;  ///< "file: field: value: expected", what the source refused, by name
};

/// O(log n); nullptr when there is no such pod.
const Pod* find_pod(const NodeState& state, std::string_view uid);

}  // namespace koordlet
