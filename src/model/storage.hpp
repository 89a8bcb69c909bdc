#pragma once

#include <string>
#include <vector>

namespace koordlet {

/// The block devices of the node, as far as IO limits need them. Numbers are "MAJ:MIN".
struct StorageTable {
  struct Device {
    std::string name;    ///< "vdb", "vdb1", "dm-0"
    std::string number;  ///< its own
    /// Whole disks below it, sorted; itself for a whole disk. The kernel limits these alone.
    std::vector<std::string> disks;
    std::string mapper;        ///< device mapper: name below /dev/mapper; else ""
    std::string volume_group;  ///< of a logical volume; else ""
    friend bool operator==(const Device&, const Device&) = default;
  };
  struct Mount {
    std::string mount_point;
    std::string number;
    friend bool operator==(const Mount&, const Mount&) = default;
  };
  std::vector<Device> devices;
  std::vector<Mount> mounts;
  friend bool operator==(const StorageTable&, const StorageTable&) = default;
};

}  // namespace koordlet
