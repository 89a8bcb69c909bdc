#include "kernel/storage.hpp"

#include <algorithm>
#include <cerrno>
#include <dirent.h>
#include <map>
#include <memory>
#include <set>
#include <unistd.h>

#include <fmt/format.h>

#include "base/parse.hpp"
#include "kernel/fd.hpp"

namespace koordlet::kernel {
namespace {

constexpr std::size_t kMostDevices = 16'384;

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> out;
  const std::unique_ptr<DIR, int (*)(DIR*)> dir{::opendir(folder.c_str()), ::closedir};
  if (!dir) return out;
  while (const auto* entry = ::readdir(dir.get())) {
    const std::string name{entry->d_name};
    if (name != "." && name != ".." && out.size() < kMostDevices) out.push_back(name);
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::optional<std::string> read_word(const std::string& path) {
  const auto text = read_file(path, 4096);
  if (!text) return std::nullopt;
  return std::string{trim(*text)};
}

/// The folder above a partition's own is its disk: <sys>/devices/.../sda/sda1.
std::string disk_of_partition(const std::string& folder) {
  char target[4096];
  const auto n = ::readlink(folder.c_str(), target, sizeof target);
  if (n <= 0 || static_cast<std::size_t>(n) >= sizeof target) return {};
  const std::string_view path{target, static_cast<std::size_t>(n)};
  const auto last = path.rfind('/');
  if (last == std::string_view::npos) return {};
  const auto parent = path.substr(0, last);
  const auto before = parent.rfind('/');
  return std::string{before == std::string_view::npos ? parent : parent.substr(before + 1)};
}

std::optional<BlockDevice> read_device(const std::string& folder, const std::string& name) {
  BlockDevice out;
  out.name = name;
  const auto number = read_word(folder + "/dev");
  if (!number) return std::nullopt;
  const auto device = parse_device_number(*number);
  if (!device) return std::nullopt;
  out.device = *device;
  const auto sectors = read_word(folder + "/size");
  const auto size = sectors ? parse_u64(*sectors) : Result<std::uint64_t>{Error{Errc::kParse, ""}};
  if (!size || *size >= (std::uint64_t{1} << 54)) return std::nullopt;  // vanished, or damaged
  out.size_bytes = *size * 512;
  const auto flag = read_word(folder + "/queue/rotational");
  if (flag == "0" || flag == "1") out.rotational = flag == "1";
  if (::access((folder + "/partition").c_str(), F_OK) == 0) {
    out.disk = disk_of_partition(folder);
    if (out.disk.empty()) return std::nullopt;  // it must not pass for a whole disk
  }
  if (const auto dm = read_word(folder + "/dm/name")) out.dm_name = *dm;
  out.slaves = names_in(folder + "/slaves");
  return out;
}

void collect_disks(const std::vector<BlockDevice>& devices,
                   const std::string& name,
                   std::set<std::string>& seen,
                   std::set<std::string>& disks) {
  if (!seen.insert(name).second) return;  // a loop cannot be, but a damaged tree can
  const auto at = std::find_if(
      devices.begin(), devices.end(), [&](const BlockDevice& d) { return d.name == name; });
  if (at == devices.end()) return;
  if (!at->disk.empty()) return collect_disks(devices, at->disk, seen, disks);
  if (at->slaves.empty()) {
    disks.insert(name);
    return;
  }
  for (const auto& slave : at->slaves) collect_disks(devices, slave, seen, disks);
}

}  // namespace

Result<std::vector<BlockDevice>> read_block_devices(const HostRoots& roots) {
  const auto folder = roots.sys + "/class/block";
  if (::access(folder.c_str(), R_OK) != 0) return errno_error(errno, folder, "open");
  std::vector<BlockDevice> out;
  for (const auto& name : names_in(folder)) {
    if (auto device = read_device(folder + "/" + name, name)) out.push_back(std::move(*device));
  }
  return out;
}

std::optional<std::pair<std::string, std::string>> split_dm_name(std::string_view dm_name) {
  std::string parts[2];
  std::size_t part = 0;
  for (std::size_t i = 0; i < dm_name.size(); ++i) {
    if (dm_name[i] != '-') {
      parts[part] += dm_name[i];
    } else if (i + 1 < dm_name.size() && dm_name[i + 1] == '-') {
      parts[part] += '-';
      ++i;
    } else if (++part > 1) {
      return std::nullopt;
    }
  }
  if (part != 1 || parts[0].empty() || parts[1].empty()) return std::nullopt;
  return std::pair{parts[0], parts[1]};
}

std::vector<std::string> StorageInfo::disks_of(const std::string& device_name) const {
  std::set<std::string> seen, disks;
  collect_disks(devices, device_name, seen, disks);
  return {disks.begin(), disks.end()};
}

Result<StorageInfo> read_storage(const HostRoots& roots) {
  StorageInfo out;
  auto devices = read_block_devices(roots);
  if (!devices) return devices.error();
  out.devices = std::move(*devices);
  const auto file = roots.proc + "/self/mountinfo";
  const auto text = read_file(file, 16u << 20);
  if (!text) return text.error();
  auto mounts = parse_mountinfo(*text);
  if (!mounts) return wrap(file, mounts.error());
  std::set<DeviceNumber> numbers;
  std::map<std::string, DeviceNumber> by_source;
  for (const auto& d : out.devices) {
    numbers.insert(d.device);
    by_source["/dev/" + d.name] = d.device;
    if (!d.dm_name.empty()) by_source["/dev/mapper/" + d.dm_name] = d.device;
  }
  for (auto& mount : *mounts) {
    if (mount.device.major == 0) {  // anonymous: file systems over several devices, such as btrfs
      const auto source = by_source.find(mount.source);
      if (source != by_source.end()) mount.device = source->second;
    }
    if (numbers.contains(mount.device)) out.mounts.push_back(std::move(mount));
  }
  return out;
}

}  // namespace koordlet::kernel
