#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "model/hook.hpp"

/// Requests of the CRI (runtime.v1 and v1alpha2 alike) to what a hook is told, and what it answers
/// back into them. Pure.
///
/// An answer is put behind the caller's bytes as a second piece of the same message: by the rules
/// of protobuf a later piece is merged into the earlier one, single values and map entries of the
/// later one win, lists grow. So every byte of the caller stays where it was, unknown fields too.
namespace koordlet::runtime {

/// The pod has no id yet. kParse: no such message, or a CPU set that is none.
Result<HookPod> parse_run_pod_sandbox(std::string_view message);

struct CriCreateContainer {
  HookPod pod{};
  HookContainer container{};  ///< without an id
};
Result<CriCreateContainer> parse_create_container(std::string_view message);
/// kNotSupported: mounts, devices or a resctrl group, which the CRI's container config cannot be
/// given this way.
Result<std::string> adjusted_create_container(std::string message, const HookAdjustment& answer);

struct CriUpdateContainer {
  std::string container_id;  ///< never empty
  HookResources resources{};
  std::optional<std::int64_t> oom_score_adj{};
};
Result<CriUpdateContainer> parse_update_container(std::string_view message);
/// kNotSupported: a resctrl group.
Result<std::string> adjusted_update_container(std::string message, const HookResources& answer);

/// Field 1 of requests and answers that name one pod or container. kParse: none.
Result<std::string> parse_id(std::string_view message);
std::string encode_id(const std::string& id);

/// Answers to ListPodSandbox and ListContainers. An entry without an id is left out.
Result<std::vector<HookPod>> parse_pod_list(std::string_view message);
Result<std::vector<HookContainer>> parse_container_list(std::string_view message);
struct CriContainerStatus {
  HookResources resources{};  ///< empty: the runtime does not say
  std::optional<std::int64_t> oom_score_adj{};
};
Result<CriContainerStatus> parse_container_status(std::string_view message);
/// UpdateContainerResourcesRequest. kNotSupported: a resctrl group.
Result<std::string> encode_update_container(const std::string& id, const HookResources& resources);

}  // namespace koordlet::runtime
