#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "base/result.hpp"
#include "model/node_metric.hpp"
#include "model/node_report.hpp"

/// NodeMetric, slo.koordinator.sh/v1alpha1: the spec comes from the cluster, the status from us.
namespace koordlet::k8s {

inline constexpr std::string_view kNodeMetrics = "/apis/slo.koordinator.sh/v1alpha1/nodemetrics";

struct NodeMetricResult {
  NodeMetricSpec spec;
  std::string name;
  std::string resource_version;
  std::int64_t generation = 0;      ///< 0: not stated
  std::vector<std::string> faults;  ///< fields that were refused
};
/// Absent fields are the defaults. A refused field keeps its value in `last`, the default without
/// one. aggregateDurationSeconds 1..604800, raised to 60; reportIntervalSeconds 1..86400, raised to
/// 10; durations of 1 s to 7 days, at most 10 of them, an empty list is the default.
Result<NodeMetricResult> decode_node_metric(const boost::json::value& object,
                                            const NodeMetricSpec* last = nullptr);

/// The value of `status`. A use of which CPU or memory is unknown goes out as {}: consumers
/// subtract, and would read the missing half as 0.
boost::json::object encode_node_metric_status(const NodeReport& report);

/// {"status": ...} as a merge patch (RFC 7386) that leaves exactly `status`: what an earlier report
/// had and this one has not is nulled by name.
boost::json::object node_metric_patch(boost::json::object status);

/// A new object: its spec and, when the Node's uid is known (not empty), its owner.
boost::json::object new_node_metric(const std::string& name,
                                    const std::string& node_uid,
                                    const NodeMetricSpec& spec);

/// metadata.ownerReferences of an object that belongs to the Node; empty without a uid.
boost::json::array owned_by_node(const std::string& name, const std::string& node_uid);

}  // namespace koordlet::k8s
