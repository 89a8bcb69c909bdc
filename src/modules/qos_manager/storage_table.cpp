#include "modules/qos_manager/storage_table.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace koordlet {

StorageTable storage_table(const kernel::StorageInfo& info) {
  StorageTable out;
  std::map<std::string, std::string> numbers;
  for (const auto& d : info.devices) numbers.emplace(d.name, kernel::to_string(d.device));
  for (const auto& d : info.devices) {
    StorageTable::Device device;
    device.name = d.name;
    device.number = kernel::to_string(d.device);
    for (const auto& disk : info.disks_of(d.name)) {
      const auto number = numbers.find(disk);
      if (number != numbers.end()) device.disks.push_back(number->second);
    }
    std::sort(device.disks.begin(), device.disks.end());
    device.mapper = d.dm_name;
    // A thin pool or a crypt device has such a name too and stands on disks all the same.
    if (const auto names = kernel::split_dm_name(d.dm_name)) device.volume_group = names->first;
    out.devices.push_back(std::move(device));
  }
  for (const auto& m : info.mounts) {
    if (m.mount_point.find("/pods/") == std::string::npos) continue;
    out.mounts.push_back({m.mount_point, kernel::to_string(m.device)});
  }
  return out;
}

}  // namespace koordlet
