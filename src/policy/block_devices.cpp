#include "policy/block_devices.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace koordlet::policy {
namespace {

using Disks = std::vector<std::string>;

Error not_found(const IoBlock& block, const char* kind, const char* expected) {
  return {Errc::kNotFound, fmt::format("{} '{}': expected {}", kind, block.name, expected)};
}

/// "vdb", "/dev/vdb" is not a name: blocks carry names without slashes.
Result<Disks> disks_of_device(const StorageTable& storage, const IoBlock& block) {
  for (const auto& d : storage.devices) {
    if (d.name == block.name && !d.disks.empty()) return d.disks;
  }
  return not_found(block, "device", "a disk or partition of this node");
}

Result<Disks> disks_of_group(const StorageTable& storage, const IoBlock& block) {
  std::set<std::string> disks;
  for (const auto& d : storage.devices) {
    if (!d.volume_group.empty() && d.volume_group == block.name)
      disks.insert(d.disks.begin(), d.disks.end());
  }
  if (disks.empty()) return not_found(block, "volume group", "one with an active volume");
  return Disks{disks.begin(), disks.end()};
}

/// ".../pods/UID/volumes/PLUGIN/NAME" or the same with "/mount" behind, as kubelet mounts volumes.
bool is_volume_of(std::string_view mount_point, std::string_view uid, std::string_view name) {
  if (mount_point.ends_with("/mount")) mount_point.remove_suffix(6);
  const auto head = fmt::format("/pods/{}/volumes/", uid);
  const auto at = mount_point.rfind(head);
  if (at == std::string_view::npos) return false;
  const auto rest = mount_point.substr(at + head.size());  // "kubernetes.io~csi/NAME"
  const auto slash = rest.find('/');
  return slash != std::string_view::npos && rest.substr(slash + 1) == name;
}

Result<Disks> disks_of_volume(const StorageTable& storage, const IoBlock& block, const Pod* pod) {
  if (pod == nullptr) return not_found(block, "pod volume", "it in an annotation of its pod");
  for (const auto& mount : storage.mounts) {
    if (!is_volume_of(mount.mount_point, pod->uid, block.name)) continue;
    const auto device = std::find_if(storage.devices.begin(),
                                     storage.devices.end(),
                                     [&](const auto& d) { return d.number == mount.number; });
    if (device != storage.devices.end() && !device->disks.empty()) return device->disks;
  }
  return not_found(block, "pod volume", "a mounted volume of this pod on a disk of this node");
}

}  // namespace

Result<Disks> resolve_block(const StorageTable& storage, const IoBlock& block, const Pod* pod) {
  switch (block.kind) {
    case IoBlockKind::kDevice:
      return disks_of_device(storage, block);
    case IoBlockKind::kVolumeGroup:
      return disks_of_group(storage, block);
    case IoBlockKind::kPodVolume:
      break;
  }
  return disks_of_volume(storage, block, pod);
}

}  // namespace koordlet::policy
