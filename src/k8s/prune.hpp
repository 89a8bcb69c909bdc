#pragma once

#include <string_view>

#include <boost/json/value.hpp>

namespace koordlet::k8s {

/// The part of an API object that the decoders read: decode(prune(x)) equals decode(x). Nothing
/// else is ever stored on the node; environment variables, commands and volumes of a pod (where
/// secrets stand) are left out. By kind: Pod, Node, NodeSLO, NodeMetric; of other kinds only
/// apiVersion, kind and the name. What is not an object becomes null.
boost::json::value prune(const boost::json::value& object);
/// The same for an object that does not say its kind: apiVersion and kind are left to the caller.
boost::json::value prune(const boost::json::value& object, std::string_view kind);

}  // namespace koordlet::k8s
