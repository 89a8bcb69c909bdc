#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <boost/json/value.hpp>

#include "base/result.hpp"
#include "model/node.hpp"
#include "model/node_slo.hpp"
#include "model/pod.hpp"

namespace koordlet::k8s {

/// Text of a manifest file as JSON values: JSON, or YAML with several documents. YAML scalars
/// become what Kubernetes' own YAML reader makes of them (quoted stays text). Bounds: 4 MiB, depth
/// 64, no aliases beyond 1000 nodes.
Result<std::vector<boost::json::value>> parse_documents(std::string_view text);

/// Decoders. Unknown keys are ignored, a field of the wrong type or out of range is a fault that
/// names subject, field, value and what was expected. They never throw on outside input.
struct PodResult {
  Pod pod;
  std::vector<std::string> faults;  ///< fields that were ignored
};
Result<PodResult> decode_pod(
    const boost::json::value& object);  ///< error: no usable uid, name or namespace
Result<Node> decode_node(const boost::json::value& object);
struct NodeSloResult {
  NodeSlo slo;
  std::vector<std::string>
      faults;  ///< fields that were refused: absent in slo (the last good value holds)
};
Result<NodeSloResult> decode_node_slo(const boost::json::value& object);

/// apiVersion + kind of an object: "v1/Pod", "slo.koordinator.sh/v1alpha1/NodeSLO"; empty when it
/// has none.
std::string object_type(const boost::json::value& object);

}  // namespace koordlet::k8s
