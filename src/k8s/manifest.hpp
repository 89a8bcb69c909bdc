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

/// Text of a manifest file as JSON values: JSON (first byte '{' or '[', several values may follow
/// each other), or YAML with several documents. YAML scalars become what the core schema makes of
/// them (quoted stays text). Lists are expanded: `kind: List` and `kind: <Kind>List` become their
/// items, which inherit apiVersion and kind from the list where they have none, and so does an
/// array. Empty documents are left out. Bounds: 4 MiB (or `max_bytes`), depth 64, aliases copy at
/// most 1000 nodes. kNotFound: no document at all (an empty list is one: its result is an empty
/// vector). kParse with the line, kRange beyond the bounds.
Result<std::vector<boost::json::value>> parse_documents(std::string_view text,
                                                        std::size_t max_bytes = 4u << 20);

/// Decoders. Unknown keys are ignored, null is the same as absent. A field of the wrong type or out
/// of range is a fault that names subject, field, value and what was expected, and is left out of
/// the result. They never throw on outside input. An object without usable metadata is an error.
struct PodResult {
  Pod pod;                          ///< cgroup paths are not set: they need the driver
  std::string node_name;            ///< spec.nodeName; "" when it has none
  std::vector<std::string> faults;  ///< fields that were ignored
};
/// Error: no usable uid, name or namespace. A limit without a request stands for the request too,
/// and a missing phase is Pending, as the API server has it.
Result<PodResult> decode_pod(const boost::json::value& object);

/// The uid in the name of the pod's cgroup: metadata.uid, but for a mirror pod (annotation
/// kubernetes.io/config.mirror, the API server's picture of a static pod) kubelet's own, which
/// stands in kubernetes.io/config.hash. Only for mirror pods: kubelet never runs one that a tenant
/// made, so the annotation cannot hide a running pod.
std::string_view cgroup_uid(const Pod& pod);

struct NodeResult {
  Node node;
  std::vector<std::string> faults;
};
Result<NodeResult> decode_node(const boost::json::value& object);

struct NodeSloResult {
  NodeSlo slo;
  std::string name;                 ///< metadata.name
  std::vector<std::string> faults;  ///< fields that were refused
};
/// A refused field keeps the value it has in `last`; without `last` it is absent. Numbers of
/// qosPressure are only checked for their type here: their ranges and mutual rules belong to the
/// policy.
Result<NodeSloResult> decode_node_slo(const boost::json::value& object,
                                      const NodeSlo* last = nullptr);

/// apiVersion + kind of an object: "v1/Pod", "slo.koordinator.sh/v1alpha1/NodeSLO"; empty when it
/// has none.
std::string object_type(const boost::json::value& object);

}  // namespace koordlet::k8s
