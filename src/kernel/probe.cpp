#include "kernel/probe.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <filesystem>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/parse.hpp"
#include "kernel/fd.hpp"

namespace koordlet::kernel {
namespace {

namespace fs = std::filesystem;

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

std::string probe_name() { return fmt::format("koordlet-doctor-{}", ::getpid()); }

/// A cgroup for a look; removed with the object.
class ProbeCgroup {
 public:
  static Result<ProbeCgroup> make(const std::string& parent) {
    const std::string path = parent + "/" + probe_name();
    if (::mkdir(path.c_str(), 0755) != 0) return errno_error(errno, path, "make a cgroup");
    return ProbeCgroup{path};
  }
  ProbeCgroup(ProbeCgroup&& o) noexcept : path_{std::move(o.path_)} { o.path_.clear(); }
  ProbeCgroup& operator=(ProbeCgroup&&) = delete;
  ~ProbeCgroup() {
    if (!path_.empty()) ::rmdir(path_.c_str());
  }
  bool has(std::string_view file) const { return exists(fmt::format("{}/{}", path_, file)); }

 private:
  explicit ProbeCgroup(std::string path) : path_{std::move(path)} {}
  std::string path_;
};

/// Value of "Key:\t..." in a status file.
Result<std::string_view> status_field(std::string_view text, std::string_view key) {
  while (const auto line = next_line(text)) {
    if (line->starts_with(key) && line->substr(key.size()).starts_with(':')) {
      return trim(line->substr(key.size() + 1));
    }
  }
  return Error{Errc::kParse, fmt::format("expected a line '{}:'", key)};
}

Result<std::uint64_t> read_number(const std::string& path) {
  const auto text = read_file(path);
  if (!text) return text.error();
  const auto n = parse_u64(trim(*text));
  if (!n) return wrap(path, n.error());
  return *n;
}

}  // namespace

Result<std::string> kernel_release(const HostRoots& roots) {
  const std::string path = roots.proc + "/sys/kernel/osrelease";
  const auto text = read_file(path);
  if (!text) return text.error();
  if (trim(*text).empty()) return Error{Errc::kParse, path + ": expected a release, got nothing"};
  return std::string{trim(*text)};
}

Result<std::vector<std::string>> cgroup_controllers(const HostRoots& roots, CgroupVersion version) {
  std::vector<std::string> out;
  if (version == CgroupVersion::kV2) {
    const auto text = read_file(roots.cgroup + "/cgroup.controllers");
    if (!text) return text.error();
    std::string_view rest = *text;
    while (const auto name = next_field(rest)) out.emplace_back(*name);
  } else {
    std::error_code ec;
    fs::directory_iterator it{roots.cgroup, ec};
    if (ec) return errno_error(ec.value(), roots.cgroup, "list");
    for (; it != fs::directory_iterator{}; it.increment(ec)) {
      const std::string name = it->path().filename();
      if (name == "systemd" || name == "unified") continue;  // hierarchies without a controller
      if (exists(it->path().string() + "/cgroup.procs")) out.push_back(name);
    }
    if (ec) return errno_error(ec.value(), roots.cgroup, "list");
  }
  std::sort(out.begin(), out.end());
  return out;
}

Result<CgroupFeatures> probe_cgroup_write(const HostRoots& roots, CgroupVersion version) {
  CgroupFeatures out;
  if (version == CgroupVersion::kV2) {
    const auto child = ProbeCgroup::make(roots.cgroup);
    if (!child) return child.error();
    out.cpu_max = child->has("cpu.max");
    out.cpu_idle = child->has("cpu.idle");
    out.cpu_bvt = child->has("cpu.bvt_warp_ns");
    out.memory_high = child->has("memory.high");
    return out;
  }
  const auto cpu = ProbeCgroup::make(roots.cgroup + "/cpu");
  if (!cpu) return cpu.error();
  const auto memory = ProbeCgroup::make(roots.cgroup + "/memory");
  if (!memory && memory.error().code != Errc::kNotFound) return memory.error();
  out.cpu_max = cpu->has("cpu.cfs_quota_us");
  out.cpu_idle = cpu->has("cpu.idle");
  out.cpu_bvt = cpu->has("cpu.bvt_warp_ns");
  out.memory_high = memory && memory->has("memory.high");
  return out;
}

bool has_btf(const HostRoots& roots) { return exists(roots.sys + "/kernel/btf/vmlinux"); }

Result<std::chrono::milliseconds> probe_psi_trigger(const HostRoots& roots) {
  const auto path = roots.proc + "/pressure/memory";
  Error error{};
  for (const int window_ms : {500, 2000}) {
    // One trigger a descriptor; the kernel cuts the last byte off, so the NUL goes along.
    const Fd fd{::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC)};
    if (!fd) return errno_error(errno, path, "open");
    if (!is_kernel_file(fd.get()))
      return Error{Errc::kNotSupported, path + ": not a pressure file of the kernel"};
    const auto text = fmt::format("some {} {}", window_ms * 100, window_ms * 1000);
    if (::write(fd.get(), text.c_str(), text.size() + 1) >= 0)
      return std::chrono::milliseconds{window_ms};
    error = errno_error(errno, path, "write trigger '" + text + "'");
  }
  return error;
}

std::string resctrl_mount_point(const HostRoots& roots) { return roots.sys + "/fs/resctrl"; }

Resctrl probe_resctrl(const HostRoots& roots) {
  if (exists(resctrl_mount_point(roots) + "/schemata")) return Resctrl::kMounted;
  const auto text = read_file(roots.proc + "/filesystems");
  if (!text) return Resctrl::kUnsupported;
  std::string_view rest = *text;
  while (const auto word = next_field(rest)) {
    if (*word == "resctrl") return Resctrl::kNotMounted;
  }
  return Resctrl::kUnsupported;
}

Result<Rights> read_rights(const HostRoots& roots) {
  const std::string path = roots.proc + "/self/status";
  const auto text = read_file(path);
  if (!text) return text.error();
  const auto uids = status_field(*text, "Uid");
  if (!uids) return wrap(path, uids.error());
  std::string_view rest = *uids;  // real, effective, saved, file system
  next_field(rest);
  const auto effective = next_field(rest);
  const auto uid = parse_u64(effective.value_or(""));
  if (!uid) return wrap(path + ": Uid", uid.error());
  const auto mask = status_field(*text, "CapEff");
  if (!mask) return wrap(path, mask.error());
  Rights out;
  out.effective_uid = *uid;
  const char* const end = mask->data() + mask->size();
  const auto parsed = std::from_chars(mask->data(), end, out.capabilities, 16);
  if (parsed.ec != std::errc{} || parsed.ptr != end) {
    return Error{Errc::kParse, path + ": CapEff: expected a hexadecimal mask"};
  }
  return out;
}

Result<DescriptorLimit> descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return errno_error(errno, "RLIMIT_NOFILE", "read");
  return DescriptorLimit{limit.rlim_cur, limit.rlim_max};
}

Result<DescriptorLimit> raise_descriptor_limit() {
  const auto now = descriptor_limit();
  if (!now || now->soft >= now->hard) return now;
  const rlimit wanted{now->hard, now->hard};
  if (::setrlimit(RLIMIT_NOFILE, &wanted) != 0) return errno_error(errno, "RLIMIT_NOFILE", "raise");
  return descriptor_limit();
}

Result<InotifyLimits> inotify_limits(const HostRoots& roots) {
  const std::string folder = roots.proc + "/sys/fs/inotify/";
  const auto instances = read_number(folder + "max_user_instances");
  if (!instances) return instances.error();
  const auto watches = read_number(folder + "max_user_watches");
  if (!watches) return watches.error();
  return InotifyLimits{*instances, *watches};
}

Result<std::uint64_t> probe_folder_writable(const std::string& folder) {
  std::error_code ec;
  fs::path at{folder};
  const bool missing = !fs::exists(at, ec);
  while (!fs::exists(at, ec) && at.has_relative_path()) at = at.parent_path();
  if (!fs::is_directory(at, ec)) return errno_error(ENOTDIR, at.string(), "use as a folder");
  if (missing) {
    if (::access(at.c_str(), W_OK | X_OK) != 0) return errno_error(errno, at.string(), "write");
  } else {
    const std::string file = at.string() + "/." + probe_name();
    const Fd fd{::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)};
    if (!fd) return errno_error(errno, at.string(), "make a file");
    if (::unlink(file.c_str()) != 0) return errno_error(errno, file, "remove");
  }
  struct statvfs space {};
  if (::statvfs(at.c_str(), &space) != 0) return errno_error(errno, at.string(), "statvfs");
  return std::uint64_t{space.f_bavail} * space.f_frsize;
}

}  // namespace koordlet::kernel
