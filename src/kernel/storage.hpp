#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kernel/disk_stats.hpp"
#include "kernel/host.hpp"

namespace koordlet::kernel {

/// One line of <proc>/self/mountinfo (any number of optional fields before the "-": pitfall 46).
struct Mount {
  DeviceNumber device;
  std::string mount_point;  ///< octal escapes undone
  std::string fs_type;
  std::string source;
};
/// A line without its fields or with another device number, and content that is cut, are kParse.
Result<std::vector<Mount>> parse_mountinfo(std::string_view text);

/// One block device from <sys>/class/block, without forking any tool: partitions know their disk by
/// the sysfs hierarchy (not by the minor number), device-mapper volumes by their slaves.
struct BlockDevice {
  std::string name;  ///< "sda1", "dm-0"
  DeviceNumber device;
  std::uint64_t size_bytes = 0;
  std::optional<bool> rotational;   ///< of whole disks
  std::string disk;                 ///< partition: its disk; else ""
  std::string dm_name;              ///< device mapper: "vg-lv" as in /dev/mapper; else ""
  std::vector<std::string> slaves;  ///< device mapper: what it stands on
};
/// Sorted by name; a device that vanishes meanwhile or that cannot be read is left out (pitfall
/// 59), as is a partition whose disk is not known. kNotFound: no such folder.
Result<std::vector<BlockDevice>> read_block_devices(const HostRoots& roots);

/// "vg-lv" with "-" doubled inside the two names, undone: {"vg", "lv"}; nullopt for other names.
std::optional<std::pair<std::string, std::string>> split_dm_name(std::string_view dm_name);

struct StorageInfo {
  std::vector<BlockDevice> devices;
  /// Of block devices only; a file system with an anonymous number (btrfs) carries the number of
  /// its source. No file system is asked anything, so a server that hangs stops nothing (pitfall
  /// 163).
  std::vector<Mount> mounts;
  /// Whole disks that a device stands on (partition, volume, whole disk itself).
  std::vector<std::string> disks_of(const std::string& device_name) const;
};
Result<StorageInfo> read_storage(const HostRoots& roots);

}  // namespace koordlet::kernel
