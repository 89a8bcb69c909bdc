#include "kernel/storage.hpp"

#include <algorithm>
#include <dirent.h>
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
  if (const auto sectors = read_word(folder + "/size")) {
    if (const auto n = parse_u64(*sectors); n && *n < (std::uint64_t{1} << 54))
      out.size_bytes = *n * 512;
  }
  if (const auto flag = read_word(folder + "/queue/rotational")) out.rotational = *flag == "1";
  if (::access((folder + "/partition").c_str(), F_OK) == 0) out.disk = disk_of_partition(folder);
  if (const auto dm = read_word(folder + "/dm/name")) out.dm_name = *dm;
  out.slaves = names_in(folder + "/slaves");
  return out;
}

/// "\040" is a blank: the kernel writes blanks, tabs, newlines and backslashes so.
std::string unescape(std::string_view text) {
  std::string out;
  const auto octal = [](char c) { return c >= '0' && c <= '7'; };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && octal(text[i + 1]) && octal(text[i + 2]) &&
        octal(text[i + 3])) {
      out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                               (text[i + 3] - '0'));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

Result<Mount> parse_mount_line(std::string_view line) {
  const auto bad = [&](std::string_view expected) {
    return Error{Errc::kParse,
                 fmt::format("mountinfo '{}': expected {}", line.substr(0, 80), expected)};
  };
  auto rest = line;
  std::string_view fields[6];
  for (auto& field : fields) {
    const auto next = next_field(rest);
    if (!next) return bad("six fields before the optional ones");
    field = *next;
  }
  // Any number of optional fields, none included, up to the lone dash.
  for (;;) {
    const auto next = next_field(rest);
    if (!next) return bad("a '-' after the optional fields");
    if (*next == "-") break;
  }
  const auto type = next_field(rest), source = next_field(rest);
  if (!type || !source) return bad("file system type and source");
  const auto device = parse_device_number(fields[2]);
  if (!device) return bad("<major>:<minor>");
  return Mount{*device, unescape(fields[4]), std::string{*type}, unescape(*source)};
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

Result<std::vector<Mount>> parse_mountinfo(std::string_view text) {
  std::vector<Mount> out;
  while (const auto line = next_line(text)) {
    if (trim(*line).empty()) continue;
    auto mount = parse_mount_line(*line);
    if (!mount) return mount.error();
    out.push_back(std::move(*mount));
  }
  return out;
}

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
  for (auto& mount : *mounts) {
    const auto is_it = [&](const BlockDevice& d) { return d.device == mount.device; };
    if (std::any_of(out.devices.begin(), out.devices.end(), is_it))
      out.mounts.push_back(std::move(mount));
  }
  return out;
}

}  // namespace koordlet::kernel
