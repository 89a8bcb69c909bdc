#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kernel/disk_stats.hpp"

namespace koordlet::kernel {

/// IO of one cgroup on one device since the cgroup was made.
struct IoCounters {
  DeviceNumber device;
  std::uint64_t read_bytes = 0, write_bytes = 0;
  std::uint64_t reads = 0, writes = 0;
  friend bool operator==(const IoCounters&, const IoCounters&) = default;
};

/// cgroup v2 io.stat; no text is no IO. A device without values, or without a number, is left out
/// (pitfall 44); unknown keys are skipped; a device with some of the four values only is kParse, as
/// is content that is cut.
Result<std::vector<IoCounters>> parse_io_stat(std::string_view text);
/// cgroup v1 blkio.throttle.io_service_bytes_recursive and io_serviced_recursive: the first fills
/// bytes, the second operations; the "Total" line is skipped. A device that only one of them has
/// (its first IO fell between the two readings) is left out. Ascending.
Result<std::vector<IoCounters>> parse_blkio(std::string_view service_bytes,
                                            std::string_view serviced);

}  // namespace koordlet::kernel
