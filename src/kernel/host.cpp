#include "kernel/host.hpp"

#include <algorithm>
#include <cerrno>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <fmt/format.h>

#include "base/parse.hpp"
#include "kernel/cgroup_names.hpp"
#include "kernel/fd.hpp"

namespace koordlet::kernel {
Result<CgroupVersion> detect_cgroup_version(const HostRoots& roots) {
  struct statfs fs {};
  if (::statfs(roots.cgroup.c_str(), &fs) != 0) return errno_error(errno, roots.cgroup, "statfs");
  if (static_cast<unsigned long>(fs.f_type) == CGROUP2_SUPER_MAGIC) return CgroupVersion::kV2;
  for (const auto* controller : {"cpu", "cpuset", "memory", "cpuacct"}) {
    if (is_directory(cgroup_dir(roots, CgroupVersion::kV1, controller, {})))
      return CgroupVersion::kV1;
  }
  return Error{Errc::kNotSupported,
               fmt::format("{}: expected a cgroup v2 mount or the folders of the v1 controllers",
                           roots.cgroup)};
}

std::optional<CgroupDriver> detect_cgroup_driver(const HostRoots& roots, CgroupVersion version) {
  const auto base = cgroup_dir(roots, version, "cpu", {});
  if (is_directory(base + "/kubepods.slice")) return CgroupDriver::kSystemd;
  if (is_directory(base + "/kubepods")) return CgroupDriver::kCgroupfs;
  return std::nullopt;
}

Result<std::string> read_boot_id(const HostRoots& roots) {
  const auto file = roots.proc + "/sys/kernel/random/boot_id";
  const auto text = read_file(file, 4096);
  if (!text) return text.error();
  const auto id = trim(*text);
  const bool is_uuid = id.size() == 36 && std::all_of(id.begin(), id.end(), [](char c) {
                         return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == '-';
                       });
  if (!is_uuid) {
    return Error{Errc::kParse,
                 fmt::format("{}: expected a UUID, got '{}'", file, id.substr(0, 40))};
  }
  return std::string{id};
}

}  // namespace koordlet::kernel
