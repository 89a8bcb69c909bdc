#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/pod.hpp"
#include "modules/status_api/held_index.hpp"

namespace koordlet::status_api {

/// One CPU bound that the pod runs under. The kernel takes the smallest along the path.
struct PathLimit {
  CgroupKey key;
  bool known = false;                 ///< false: neither held nor readable
  std::optional<std::int64_t> milli;  ///< nullopt while known: unlimited
  std::string file;                   ///< absolute; "" when not known
  std::string raw;                    ///< kernel content, canonical
  std::string owner;                  ///< plugin, "nobody" (unlimited), or "not koordlet"
};

/// cpu.max from the pod up to the first level below the root, and the cpuset of the BE root, the
/// pod's own first.
std::vector<PathLimit> cpu_path(const StatusView& view, const HeldIndex& held, const Pod& pod);

/// The smallest known bound, nullptr when nothing known bounds the pod. The pod's own wins a tie.
const PathLimit* smallest(const std::vector<PathLimit>& path);

}  // namespace koordlet::status_api
