#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "model/pod.hpp"
#include "model/slo_blkio.hpp"
#include "model/storage.hpp"

namespace koordlet::policy {

/// Numbers of the whole disks that `block` names, sorted. A partition is limited as its disk, a
/// volume group and a mounted volume as the disks below them: the kernel limits whole disks alone.
/// `pod` nullptr: a block of the node, which has no pod volumes. kNotFound with one line that says
/// what there is no such of.
Result<std::vector<std::string>> resolve_block(const StorageTable& storage,
                                               const IoBlock& block,
                                               const Pod* pod);

}  // namespace koordlet::policy
