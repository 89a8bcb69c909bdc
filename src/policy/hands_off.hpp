#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/node_state.hpp"
#include "model/pod.hpp"
#include "model/proposal.hpp"

/// Pods that nobody touches: annotation koordinator.sh/qos-hands-off: "true", which counts only in
/// the namespaces of `qos.hands_off_namespaces`, so that no tenant opts out by itself.
namespace koordlet::policy {

inline constexpr std::string_view kHandsOffAnnotation = "koordinator.sh/qos-hands-off";

/// True: no plugin's value reaches a control file of the pod or of its containers, and it is never
/// evicted.
bool hands_off(const Pod& pod, const std::vector<std::string>& namespaces);

/// What became of the annotation, for people: "" when the pod does not carry it.
std::string hands_off_text(const Pod& pod, const std::vector<std::string>& namespaces);

/// Takes away what is proposed for such pods and everything below them; other plugins' order stays.
/// What was held there is then nobody's wish and gets its original back with the next batch.
void drop_hands_off(std::vector<Proposal>& proposals,
                    const NodeState& state,
                    const std::vector<std::string>& namespaces);

}  // namespace koordlet::policy
