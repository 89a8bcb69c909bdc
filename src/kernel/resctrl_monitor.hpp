#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "kernel/host.hpp"

namespace koordlet::kernel {

/// One cache of one resctrl group: mon_data/mon_L3_NN. A file that says "Error", "Unavailable" or
/// "Unassigned", or is not there, is nullopt: no sample.
struct ResctrlCache {
  int cache_id = 0;
  std::optional<std::uint64_t> llc_occupancy_bytes;
  std::optional<std::uint64_t> mbm_total_bytes;  ///< since the group was made
  std::optional<std::uint64_t> mbm_local_bytes;
};
/// `group`: "" the root group, else a name below the mount ("BE"). Directories other than mon_L3_*
/// are left alone. Ascending. kNotFound: resctrl is not mounted, or no such group; kNotSupported:
/// this CPU allocates caches and does not monitor them; kRange: the group's name is no plain name;
/// kParse: another word, or content that is cut.
Result<std::vector<ResctrlCache>> read_resctrl_group(const HostRoots& roots,
                                                     const std::string& group);

}  // namespace koordlet::kernel
