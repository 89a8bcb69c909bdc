#include "kernel/cgroup_fs.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/parse.hpp"
#include "kernel/cgroup_codec.hpp"
#include "kernel/cgroup_names.hpp"
#include "kernel/file_cache.hpp"
#include "kernel/item_lines.hpp"
#include "kernel/item_writes.hpp"

namespace koordlet::kernel {
namespace {

using std::chrono::microseconds;

/// The hierarchy that stands for all of v1 where only one directory can be meant.
constexpr std::string_view kMainController = "cpu";

/// Slots of the descriptor cache: up to four files a setting.
std::uint32_t slot_of(CgroupFile file, std::size_t part = 0) {
  return static_cast<std::uint32_t>(file) * 4 + static_cast<std::uint32_t>(part);
}
constexpr std::uint32_t kPeriodSlot = 1;
constexpr Inode kMachineInode = 1;

using Rates = std::array<IoMax::Rate, kThrottleFiles.size()>;
Rates rates_of(const IoMax& io) {
  return {io.read_bytes, io.write_bytes, io.read_ops, io.write_ops};
}

/// v1 quota and period are two writes, and the kernel checks quota/period against parent and
/// children after each. In this order the value in between is never looser than both ends.
bool quota_first(const CpuMax& have, const CpuMax& want) {
  if (want.quota.is_unlimited()) return true;
  if (have.quota.is_unlimited()) return false;
  return want.period < have.period;
}

}  // namespace

struct CgroupFs::Impl {
  HostRoots roots;
  CgroupVersion version;
  FileCache cache;

  std::string dir(const CgroupPath& path) const {
    return cgroup_dir(roots, version, kMainController, path);
  }
  std::string path_of(const CgroupKey& key) const { return setting_file(roots, version, key); }
  std::string throttle_path(const CgroupPath& path, std::size_t part) const {
    return cgroup_file(roots, version, kThrottleFiles[part], path);
  }
  std::string period_path(const CgroupPath& path) const {
    return fmt::format("{}/{}", dir(path), kPeriodFile);
  }
  Error missing(Error e, const CgroupKey& key) const {
    if (traits_of(key.file).home == FileHome::kCgroup) {
      return explain_missing(
          std::move(e), roots, version, file_name(key.file).controller, key.path);
    }
    // Only a control group of resctrl comes and goes; nothing else does without a reboot.
    const bool no_group = !key.path.is_root() && is_directory(resctrl_root(roots) + "/info");
    if (e.code == Errc::kNotFound && !no_group) e.code = Errc::kNotSupported;
    return e;
  }
  bool is_v1(const CgroupKey& key, CgroupFile file) const {
    return version == CgroupVersion::kV1 && key.file == file;
  }

  /// EINVAL has many reasons and the kernel names none; the one that can be seen is added.
  Error explain_refusal(Error error, const CgroupKey& key, const CgroupValue& value) const;

  Result<CgroupValue> read_one(const CgroupKey& key);
  Result<CgroupValue> read_pair(const CgroupKey& key);
  Result<CgroupValue> read_throttle(const CgroupKey& key);
  Result<void> write_throttle(const CgroupKey& key, const IoMax& want);
  /// `path()` is called where the file is opened, and for an error.
  template <class Path>
  Result<void> write_text(const CgroupKey& key,
                          std::uint32_t slot,
                          Path path,
                          const std::string& text);
  Result<void> write_checked(const CgroupKey& key, const CgroupValue& value);
  Result<void> write_pair(const CgroupKey& key, const CpuMax& want);
  Result<void> write_both(const CgroupKey& key, const CpuMax& have, const CpuMax& want, bool quota);
};

Result<CgroupValue> CgroupFs::Impl::read_one(const CgroupKey& key) {
  const bool many = !key.item.empty();
  const auto text = cache.read(
      key.path, slot_of(key.file), [&] { return path_of(key); }, many);
  if (!text) return missing(text.error(), key);
  auto value = many ? decode_item(key, *text) : decode(version, key.file, *text);
  if (!value) return wrap(path_of(key), value.error());
  return value;
}

Result<CgroupValue> CgroupFs::Impl::read_pair(const CgroupKey& key) {
  const auto quota_text = cache.read(key.path, slot_of(key.file), [&] { return path_of(key); });
  if (!quota_text) return missing(quota_text.error(), key);
  const auto quota = decode_quota_v1(*quota_text);  // before the next read reuses the buffer
  if (!quota) return wrap(path_of(key), quota.error());
  const auto period_text = cache.read(key.path, kPeriodSlot, [&] { return period_path(key.path); });
  if (!period_text) return missing(period_text.error(), key);
  const auto period = decode_period_v1(*period_text);
  if (!period) return wrap(period_path(key.path), period.error());
  return CgroupValue{CpuMax{*quota, *period}};
}

Result<CgroupValue> CgroupFs::Impl::read_throttle(const CgroupKey& key) {
  Rates rates{IoMax::Rate::unlimited(),
              IoMax::Rate::unlimited(),
              IoMax::Rate::unlimited(),
              IoMax::Rate::unlimited()};
  for (std::size_t i = 0; i < rates.size(); ++i) {
    const auto path = [&] { return throttle_path(key.path, i); };
    const auto text = cache.read(key.path, slot_of(key.file, i), path, true);
    if (!text) return missing(text.error(), key);
    const auto rate = decode_rate_v1(key.item, *text);
    if (!rate) return wrap(path(), rate.error());
    rates[i] = *rate;
  }
  return CgroupValue{IoMax{rates[0], rates[1], rates[2], rates[3]}};
}

template <class Path>
Result<void> CgroupFs::Impl::write_text(const CgroupKey& key,
                                        std::uint32_t slot,
                                        Path path,
                                        const std::string& text) {
  // Items go by their own way, a line at a time and seldom; single settings through the cache.
  const auto write = [&] {
    return key.item.empty() ? cache.write(key.path, slot, path, text)
                            : write_item(path(), key, text);
  };
  auto done = write();
  if (!done && done.error().code == Errc::kBusy && cache.shed()) done = write();
  if (done) return done;
  auto error = missing(done.error(), key);
  // v1 says EACCES for CPUs that the parent does not have: the value is wrong, not the rights.
  if (error.code == Errc::kDenied && key.file == CgroupFile::kCpuset &&
      ::access(path().c_str(), W_OK) == 0) {
    error.code = Errc::kInvalid;
    error.context += "; the parent cpuset does not have these CPUs";
  }
  return error;
}

Result<void> CgroupFs::Impl::write_throttle(const CgroupKey& key, const IoMax& want) {
  const auto now = read_throttle(key);
  if (!now) return now.error();
  const auto have = rates_of(std::get<IoMax>(*now));
  const auto rates = rates_of(want);
  const auto path_at = [&](std::size_t part) {
    return [this, &key, part] { return throttle_path(key.path, part); };
  };
  for (std::size_t i = 0; i < rates.size(); ++i) {
    if (have[i] == rates[i]) continue;
    auto done =
        write_text(key, slot_of(key.file, i), path_at(i), encode_rate_v1(key.item, rates[i]));
    if (done) continue;
    for (std::size_t j = 0; j < i; ++j) {
      if (have[j] == rates[j]) continue;
      const auto back =
          write_text(key, slot_of(key.file, j), path_at(j), encode_rate_v1(key.item, have[j]));
      if (!back) return wrap("putting the first part back failed as well", back.error());
    }
    return done;
  }
  return {};
}

Error CgroupFs::Impl::explain_refusal(Error error,
                                      const CgroupKey& key,
                                      const CgroupValue& value) const {
  if (traits_of(key.file).home == FileHome::kResctrl) {
    const auto status = read_file(resctrl_root(roots) + "/info/last_cmd_status");
    if (status && trim(*status) != "ok") error.context += fmt::format("; {}", trim(*status));
    return error;
  }
  const auto* want = std::get_if<CpuMax>(&value);
  if (error.code != Errc::kInvalid || want == nullptr || !want->quota.bound()) return error;
  const auto file = path_of({key.path, CgroupFile::kCpuBurst});
  const auto text = read_file(file);
  if (!text) return error;
  const auto burst = parse_i64(trim(*text));
  if (burst && *burst > want->quota.bound()->count()) {
    error.context += fmt::format("; {} is {}, above the quota", file, *burst);
  }
  return error;
}

Result<void> CgroupFs::Impl::write_both(const CgroupKey& key,
                                        const CpuMax& have,
                                        const CpuMax& want,
                                        bool quota) {
  const auto write = [&](bool is_quota, const CpuMax& value) {
    return is_quota ? write_text(
                          key,
                          slot_of(key.file),
                          [&] { return path_of(key); },
                          encode(version, key.file, CgroupValue{value}))
                    : write_text(
                          key,
                          kPeriodSlot,
                          [&] { return period_path(key.path); },
                          fmt::format("{}", value.period.count()));
  };
  const auto first = write(quota, want);
  if (!first) return first;
  auto second = write(!quota, want);
  if (second) return second;
  if (const auto back = write(quota, have); !back) {
    return Error{second.error().code,
                 fmt::format("{}; putting the first half back failed as well: {}",
                             second.error().context,
                             back.error().context)};
  }
  return second;
}

Result<void> CgroupFs::Impl::write_pair(const CgroupKey& key, const CpuMax& want) {
  const auto now = read_pair(key);
  if (!now) return now.error();
  const auto have = std::get<CpuMax>(*now);
  if (have == want) return {};
  if (have.period == want.period) {
    return write_text(
        key,
        slot_of(key.file),
        [&] { return path_of(key); },
        encode(version, key.file, CgroupValue{want}));
  }
  if (have.quota == want.quota) {
    return write_text(
        key,
        kPeriodSlot,
        [&] { return period_path(key.path); },
        fmt::format("{}", want.period.count()));
  }
  const bool quota = quota_first(have, want);
  auto done = write_both(key, have, want, quota);
  if (!done && done.error().code == Errc::kInvalid) {
    // A child may forbid the tight order where the parent allows the loose one.
    if (auto other = write_both(key, have, want, !quota)) return other;
  }
  return done;
}

Result<void> CgroupFs::Impl::write_checked(const CgroupKey& key, const CgroupValue& value) {
  if (is_v1(key, CgroupFile::kCpuMax)) return write_pair(key, std::get<CpuMax>(value));
  if (is_v1(key, CgroupFile::kIoMax)) return write_throttle(key, std::get<IoMax>(value));
  return write_text(
      key,
      slot_of(key.file),
      [&] { return path_of(key); },
      key.item.empty() ? encode(version, key.file, value) : encode_item(key, value));
}

CgroupFs::CgroupFs(HostRoots roots, CgroupVersion version, std::size_t descriptor_budget)
    : impl_{std::make_unique<Impl>(
          Impl{std::move(roots), version, FileCache{descriptor_budget, true}})} {}
CgroupFs::~CgroupFs() = default;

CgroupVersion CgroupFs::version() const { return impl_->version; }

Result<CgroupValue> CgroupFs::read(const CgroupKey& key) {
  if (!is_item_of(key.file, key.item)) {
    return Error{Errc::kRange,
                 fmt::format("{}: '{}' is no setting of this file", to_string(key), key.item)};
  }
  if (impl_->is_v1(key, CgroupFile::kCpuMax)) return impl_->read_pair(key);
  if (impl_->is_v1(key, CgroupFile::kIoMax)) return impl_->read_throttle(key);
  return impl_->read_one(key);
}

Result<void> CgroupFs::write(const CgroupKey& key, const CgroupValue& value) {
  if (const auto ok = check_range(impl_->version, key, value); !ok) return ok;
  const auto done = impl_->write_checked(key, value);
  if (!done) return impl_->explain_refusal(done.error(), key, value);
  return done;
}

Result<Inode> CgroupFs::inode(const CgroupKey& key) {
  const auto home = setting_home(impl_->roots, impl_->version, key);
  struct stat st {};
  if (::stat(home.c_str(), &st) != 0) return errno_error(errno, home, "stat");
  // proc numbers its files anew whenever it looks them up again; they live as long as the kernel.
  if (traits_of(key.file).home == FileHome::kMachine) return kMachineInode;
  return static_cast<Inode>(st.st_ino);
}

Result<std::vector<std::string>> CgroupFs::children(const CgroupPath& path) {
  const auto dir = impl_->dir(path);
  DIR* handle = ::opendir(dir.c_str());
  if (handle == nullptr && (errno == EMFILE || errno == ENFILE) && impl_->cache.shed()) {
    handle = ::opendir(dir.c_str());
  }
  if (handle == nullptr) return errno_error(errno, dir, "open");
  const std::unique_ptr<DIR, int (*)(DIR*)> closer{handle, ::closedir};
  std::vector<std::string> out;
  for (;;) {
    errno = 0;
    const auto* entry = ::readdir(handle);
    if (entry == nullptr) break;
    if (entry->d_type != DT_DIR) continue;
    const std::string_view name{entry->d_name};
    if (const auto ok = CgroupPath::parse(name); ok) out.emplace_back(name);
  }
  if (errno != 0) return errno_error(errno, dir, "list");
  std::sort(out.begin(), out.end());
  return out;
}

bool CgroupFs::has(const CgroupKey& key) {
  return is_item_of(key.file, key.item) && ::access(impl_->path_of(key).c_str(), F_OK) == 0;
}

std::string CgroupFs::file(const CgroupKey& key) const { return impl_->path_of(key); }

}  // namespace koordlet::kernel
