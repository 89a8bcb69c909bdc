#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "model/pod.hpp"

namespace koordlet::policy {

struct PeakAmount {
  MilliCpu cpu;
  Bytes memory;
  friend bool operator==(const PeakAmount&, const PeakAmount&) = default;
};

/// One pod of class prod or none, as prodReclaimable sees it.
struct ReclaimablePod {
  std::string uid;
  PeakAmount request;              ///< see pod_request()
  std::optional<PeakAmount> peak;  ///< without margin; nullopt: no model
  bool cold = false;               ///< less data than the cold start asks for
  bool ended = false;              ///< terminating, Succeeded or Failed
};

struct ReclaimableInput {
  PeakAmount allocatable;  ///< of the node, not amplified
  int margin_percent = 10;
  std::vector<ReclaimablePod> pods;
  /// Peaks of the class models; nullopt: a model is missing.
  std::optional<PeakAmount> system, prod, none;
};

struct Reclaimable {
  PeakAmount reclaimable;
  PeakAmount peak;
  std::vector<std::string> unpredicted;  ///< uids without a model that are past no cold start
};

/// Reference metrics 5.5, api 2.6: what prod pods asked for and will not use, by pods and by
/// classes, per resource the smaller of both; the peak is the larger of both. nullopt: a class
/// model is missing.
std::optional<Reclaimable> prod_reclaimable(const ReclaimableInput& input);

/// Kubernetes' rule: the sum over containers and sidecars, or the largest init container, if that
/// is more, and the pod's overhead. What no container states is 0.
PeakAmount pod_request(const Pod& pod);
/// Prod or none, by label, band or QoS.
bool is_reclaimable_class(const Pod& pod);

}  // namespace koordlet::policy
