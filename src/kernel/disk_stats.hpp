#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace koordlet::kernel {

/// "MAJ:MIN" of a block device.
struct DeviceNumber {
  std::uint32_t major = 0, minor = 0;
  friend auto operator<=>(const DeviceNumber&, const DeviceNumber&) = default;
};
std::string to_string(DeviceNumber d);
Result<DeviceNumber> parse_device_number(std::string_view text);

/// Counters of one line of /proc/diskstats since boot (Documentation/admin-guide/iostats.rst).
struct DiskCounters {
  DeviceNumber device;
  std::string name;
  std::uint64_t reads = 0, writes = 0;            ///< completed
  std::uint64_t read_bytes = 0, write_bytes = 0;  ///< sectors of 512 bytes
  std::chrono::milliseconds read_time{0}, write_time{0}, io_time{0};
  std::uint64_t in_flight = 0;
};
/// A line with fewer than 14 fields, a field that is no number, or content that is cut is kParse;
/// further fields are left alone (kernels add some). No text: a machine without block devices.
Result<std::vector<DiskCounters>> parse_disk_stats(std::string_view text);

/// Counters of one interface of /proc/net/dev since boot.
struct NetCounters {
  std::string name;
  std::uint64_t rx_bytes = 0, rx_packets = 0, rx_errors = 0, rx_dropped = 0;
  std::uint64_t tx_bytes = 0, tx_packets = 0, tx_errors = 0, tx_dropped = 0;
};
Result<std::vector<NetCounters>> parse_net_dev(std::string_view text);

}  // namespace koordlet::kernel
