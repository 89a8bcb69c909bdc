#pragma once

#include <boost/json/value.hpp>

namespace koordlet::k8s {

/// The part of an API object that the decoders read: decode(prune(x)) equals decode(x). Nothing
/// else is ever stored on the node; environment variables, commands and volumes of a pod (where
/// secrets stand) are left out. By kind: Pod, Node, NodeSLO, NodeMetric; of other kinds only
/// apiVersion, kind and the name. What is not an object becomes null.
boost::json::value prune(const boost::json::value& object);

}  // namespace koordlet::k8s
