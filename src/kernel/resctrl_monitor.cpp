#include "kernel/resctrl_monitor.hpp"

#include <algorithm>
#include <cerrno>
#include <dirent.h>
#include <memory>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/parse.hpp"
#include "kernel/fd.hpp"
#include "kernel/lines.hpp"
#include "kernel/probe.hpp"

namespace koordlet::kernel {
namespace {

constexpr std::string_view kPrefix = "mon_L3_";

/// Names that resctrl itself gives to folders are no groups.
bool is_group_name(const std::string& name) {
  return name.find('/') == std::string::npos && !name.starts_with('.') && name != "info" &&
         name != "mon_data" && name != "mon_groups";
}

/// nullopt: the kernel has no value now ("Unavailable" while the RMID is busy), or no such file.
Result<std::optional<std::uint64_t>> read_counter(const std::string& path) {
  const auto text = read_file(path, 4096);
  if (!text) {
    const auto code = text.error().code;
    if (code == Errc::kNotFound || code == Errc::kGone) return std::optional<std::uint64_t>{};
    return text.error();
  }
  if (const auto whole = require_whole_lines(*text); !whole) return wrap(path, whole.error());
  const auto value = trim(*text);
  if (value == "Error" || value == "Unavailable" || value == "Unassigned")
    return std::optional<std::uint64_t>{};
  const auto n = parse_u64(value);
  if (!n) return Error{Errc::kParse, fmt::format("{}: {}", path, n.error().context)};
  return std::optional{*n};
}

}  // namespace

Result<std::vector<ResctrlCache>> read_resctrl_group(const HostRoots& roots,
                                                     const std::string& group) {
  if (!is_group_name(group)) {
    return Error{Errc::kRange,
                 fmt::format("resctrl group '{}': expected a plain name", group.substr(0, 64))};
  }
  auto folder = resctrl_mount_point(roots);
  if (!group.empty()) folder += "/" + group;
  const auto group_folder = std::exchange(folder, folder + "/mon_data");
  const std::unique_ptr<DIR, int (*)(DIR*)> dir{::opendir(folder.c_str()), ::closedir};
  if (!dir) {
    auto error = errno_error(errno, folder, "open");
    if (error.code == Errc::kNotFound && ::access((group_folder + "/schemata").c_str(), F_OK) == 0)
      error.code = Errc::kNotSupported;  // the group is there: this CPU only allocates
    return error;
  }
  std::vector<ResctrlCache> out;
  while (const auto* entry = ::readdir(dir.get())) {
    const std::string_view name{entry->d_name};
    if (!name.starts_with(kPrefix)) continue;
    const auto id = parse_u64(name.substr(kPrefix.size()));
    if (!id || *id > (1u << 20)) continue;
    const auto path = fmt::format("{}/{}", folder, name);
    ResctrlCache cache;
    cache.cache_id = static_cast<int>(*id);
    const auto occupancy = read_counter(path + "/llc_occupancy");
    const auto total = read_counter(path + "/mbm_total_bytes");
    const auto local = read_counter(path + "/mbm_local_bytes");
    if (!occupancy) return occupancy.error();
    if (!total) return total.error();
    if (!local) return local.error();
    cache.llc_occupancy_bytes = *occupancy;
    cache.mbm_total_bytes = *total;
    cache.mbm_local_bytes = *local;
    out.push_back(cache);
  }
  std::sort(
      out.begin(), out.end(), [](const auto& a, const auto& b) { return a.cache_id < b.cache_id; });
  return out;
}

}  // namespace koordlet::kernel
