#include "kernel/resctrl_control.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <optional>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/parse.hpp"
#include "kernel/cgroup_names.hpp"
#include "kernel/fd.hpp"
#include "kernel/mountinfo_options.hpp"

namespace koordlet::kernel {
namespace {

std::string group_dir(const HostRoots& roots, const std::string& name) {
  return name.empty() ? resctrl_root(roots) : resctrl_root(roots) + "/" + name;
}

/// A small number in info/; nullopt: no such file.
Result<std::optional<std::int64_t>> read_number(const std::string& path, int base = 10) {
  const auto text = read_file(path, 4096);
  if (!text) {
    if (text.error().code == Errc::kNotFound) return std::optional<std::int64_t>{};
    return text.error();
  }
  const auto digits = trim(*text);
  std::int64_t n = 0;
  const auto got = std::from_chars(digits.data(), digits.data() + digits.size(), n, base);
  if (got.ec != std::errc{} || got.ptr != digits.data() + digits.size() || n < 0) {
    return Error{Errc::kParse,
                 fmt::format("{}: expected a number, got '{}'", path, printable(digits, 40))};
  }
  return std::optional{n};
}

/// Domains of one line of schemata: "L3:0=fff;8=fff".
std::vector<int> domains(std::string_view pairs) {
  std::vector<int> out;
  while (!pairs.empty()) {
    const auto end = pairs.find(';');
    const auto one = pairs.substr(0, end);
    pairs = end == std::string_view::npos ? std::string_view{} : pairs.substr(end + 1);
    const auto id = parse_u64(trim(one.substr(0, one.find('='))));
    if (id && *id < (1u << 20)) out.push_back(static_cast<int>(*id));
  }
  std::sort(out.begin(), out.end());
  return out;
}

void read_domains(std::string_view schemata, ResctrlOffer& out) {
  while (const auto line = next_line(schemata)) {
    const auto colon = line->find(':');
    if (colon == std::string_view::npos) continue;
    const auto name = trim(line->substr(0, colon));
    if (name == "MB") out.mb_ids = domains(line->substr(colon + 1));
    if (name != "L3" && name != "L3DATA") continue;
    out.l3_ids = domains(line->substr(colon + 1));
    out.cdp = name == "L3DATA";
  }
}

Result<void> read_limits(const std::string& info, ResctrlOffer& out) {
  const std::string cache = info + (out.cdp ? "/L3DATA" : "/L3");
  const auto take = [&](const std::string& path, auto& to, int base = 10) -> Result<void> {
    const auto n = read_number(path, base);
    if (!n) return n.error();
    if (*n) to = static_cast<std::remove_reference_t<decltype(to)>>(**n);
    return {};
  };
  int cache_closids = 0, memory_closids = 0;
  for (const auto& done : {take(cache + "/cbm_mask", out.cbm_mask, 16),
                           take(cache + "/min_cbm_bits", out.min_cbm_bits),
                           take(cache + "/num_closids", cache_closids),
                           take(info + "/MB/bandwidth_gran", out.bandwidth_gran),
                           take(info + "/MB/min_bandwidth", out.min_bandwidth),
                           take(info + "/MB/num_closids", memory_closids)}) {
    if (!done) return done;
  }
  out.closids = cache_closids == 0    ? memory_closids
                : memory_closids == 0 ? cache_closids
                                      : std::min(cache_closids, memory_closids);
  return {};
}

std::vector<int> parse_ids(std::string_view text) {
  std::vector<int> out;
  while (const auto line = next_line(text)) {
    const auto id = parse_u64(trim(*line));
    if (id && *id > 0 && *id <= (1u << 30)) out.push_back(static_cast<int>(*id));
  }
  std::sort(out.begin(), out.end());
  return out;
}

Error with_status(Error error, const HostRoots& roots) {
  const auto status = read_file(resctrl_root(roots) + "/info/last_cmd_status", 4096);
  if (status && trim(*status) != "ok") {
    error.context += fmt::format("; {}", printable(trim(*status), 200));
  }
  return error;
}

}  // namespace

Result<ResctrlOffer> read_resctrl_offer(const HostRoots& roots) {
  const auto schemata = read_file(group_dir(roots, "") + "/schemata");
  if (!schemata) {
    auto error = schemata.error();
    if (error.code == Errc::kNotFound) error.code = Errc::kNotSupported;
    return error;
  }
  ResctrlOffer out;
  read_domains(*schemata, out);
  if (const auto limits = read_limits(resctrl_root(roots) + "/info", out); !limits) {
    return limits.error();
  }
  out.megabytes = mounted_with(roots, resctrl_root(roots), "mba_MBps");
  return out;
}

Result<void> mount_resctrl(const HostRoots& roots) {
  const auto target = resctrl_root(roots);
  if (::mount("resctrl", target.c_str(), "resctrl", MS_RELATIME, nullptr) == 0) return {};
  return errno_error(errno, target, "mount");
}

Result<std::vector<std::string>> list_resctrl_groups(const HostRoots& roots) {
  const auto root = resctrl_root(roots);
  const std::unique_ptr<DIR, int (*)(DIR*)> dir{::opendir(root.c_str()), ::closedir};
  if (!dir) return errno_error(errno, root, "open");
  std::vector<std::string> out;
  while (const auto* entry = ::readdir(dir.get())) {
    const std::string name{entry->d_name};
    if (name.starts_with('.') || name == "info" || name == "mon_groups" || name == "mon_data") {
      continue;
    }
    if (::access((root + "/" + name + "/schemata").c_str(), F_OK) == 0) out.push_back(name);
  }
  std::sort(out.begin(), out.end());
  return out;
}

Result<std::uint64_t> resctrl_group_inode(const HostRoots& roots, const std::string& name) {
  struct stat st {};
  const auto dir = group_dir(roots, name);
  if (::stat(dir.c_str(), &st) != 0) return errno_error(errno, dir, "stat");
  return static_cast<std::uint64_t>(st.st_ino);
}

Result<MadeGroup> make_resctrl_group(const HostRoots& roots, const std::string& name) {
  const auto dir = group_dir(roots, name);
  MadeGroup out;
  if (::mkdir(dir.c_str(), 0755) == 0) {
    out.made = true;
  } else if (errno == ENOSPC) {
    return with_status({Errc::kBusy, fmt::format("{}: no control group is left (CLOSID)", dir)},
                       roots);
  } else if (errno != EEXIST) {
    return with_status(errno_error(errno, dir, "make"), roots);
  }
  const auto inode = resctrl_group_inode(roots, name);
  if (!inode) return inode.error();
  out.inode = *inode;
  return out;
}

Result<void> remove_resctrl_group(const HostRoots& roots, const std::string& name) {
  const auto dir = group_dir(roots, name);
  if (!name.empty() && ::rmdir(dir.c_str()) == 0) return {};
  return errno_error(name.empty() ? EINVAL : errno, dir, "remove");
}

Result<std::vector<int>> read_resctrl_tasks(const HostRoots& roots, const std::string& group) {
  const auto text = read_file(group_dir(roots, group) + "/tasks", 64u << 20);
  if (!text) return text.error();
  return parse_ids(*text);
}

Result<std::vector<int>> read_cgroup_tasks(const HostRoots& roots,
                                           CgroupVersion version,
                                           const CgroupPath& path) {
  const auto* name = version == CgroupVersion::kV1 ? "/tasks" : "/cgroup.threads";
  const auto text = read_file(cgroup_dir(roots, version, "cpu", path) + name, 64u << 20);
  if (!text) return text.error();
  return parse_ids(*text);
}

Result<MovedTasks> move_tasks(const HostRoots& roots,
                              const std::string& group,
                              const std::vector<int>& tasks) {
  const auto path = group_dir(roots, group) + "/tasks";
  const Fd fd{::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC)};
  if (!fd) return errno_error(errno, path, "open");
  MovedTasks out;
  for (const int task : tasks) {
    const auto line = fmt::format("{}\n", task);
    if (::write(fd.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size())) {
      ++out.moved;
    } else if (errno == ESRCH) {
      ++out.gone;
    } else {
      if (out.refused++ == 0) {
        out.error = with_status(errno_error(errno, path, std::to_string(task)), roots).context;
      }
    }
  }
  return out;
}

}  // namespace koordlet::kernel
