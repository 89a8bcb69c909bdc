#pragma once

#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "runtime/container_stats.hpp"

/// Bytes of CRI messages to values. kParse: not such a message; a container without an id is left
/// out.
namespace koordlet::runtime {

Result<std::vector<ContainerStats>> parse_container_stats(std::string_view bytes);
Result<std::vector<ContainerStats>> parse_pod_sandbox_stats(std::string_view bytes);

}  // namespace koordlet::runtime
