#include "modules/states_informer/manifest_folder.hpp"

#include <algorithm>
#include <cerrno>
#include <dirent.h>
#include <memory>

#include <fmt/format.h>

#include "kernel/fd.hpp"

namespace koordlet::states {
namespace {

// File times move with the kernel's tick (10 ms at most). A file read this soon after its last
// change may change again without a new time.
constexpr std::chrono::milliseconds kRacy{100};

std::int64_t to_ns(const timespec& t) {
  return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

Result<std::vector<std::string>> list(const std::string& folder) {
  DIR* handle = ::opendir(folder.c_str());
  if (handle == nullptr) return errno_error(errno, folder, "open");
  const std::unique_ptr<DIR, int (*)(DIR*)> closer{handle, ::closedir};
  std::vector<std::string> out;
  for (;;) {
    errno = 0;
    const auto* entry = ::readdir(handle);
    if (entry == nullptr) break;
    if (entry->d_type == DT_DIR || !is_manifest_name(entry->d_name)) continue;
    out.emplace_back(entry->d_name);
  }
  if (errno != 0) return errno_error(errno, folder, "list");
  return out;
}

}  // namespace

bool is_manifest_name(std::string_view name) {
  if (name.empty() || name[0] == '.' || name[0] == '#') return false;
  return name.ends_with(".yaml") || name.ends_with(".yml") || name.ends_with(".json");
}

std::optional<ManifestFolder::Stamp> ManifestFolder::stamp_of(const struct stat& st, WallTime now) {
  const Stamp stamp{st.st_dev, st.st_ino, st.st_size, to_ns(st.st_mtim), to_ns(st.st_ctim)};
  using std::chrono::nanoseconds;
  const auto now_ns = std::chrono::duration_cast<nanoseconds>(now.time_since_epoch()).count();
  const auto age = now_ns - std::max(stamp.modified_ns, stamp.changed_ns);
  if (age < nanoseconds{kRacy}.count()) return std::nullopt;
  return stamp;
}

Result<void> ManifestFolder::begin() {
  auto names = list(folder_);
  if (!names) return names.error();
  std::sort(names->begin(), names->end());
  for (auto file = files_.begin(); file != files_.end();) {
    if (std::binary_search(names->begin(), names->end(), file->first)) {
      ++file;
      continue;
    }
    stamps_.erase(file->first);
    file = files_.erase(file);
    ++generation_;
  }
  todo_.assign(names->rbegin(), names->rend());
  return {};
}

bool ManifestFolder::step(WallTime now) {
  if (todo_.empty()) return false;
  const auto name = std::move(todo_.back());
  todo_.pop_back();
  read_one(name, now);
  return true;
}

Result<void> ManifestFolder::scan(WallTime now) {
  if (auto done = begin(); !done) return done;
  while (step(now)) {
  }
  return {};
}

void ManifestFolder::read_one(const std::string& name, WallTime now) {
  const auto path = fmt::format("{}/{}", folder_, name);
  const auto known = files_.find(name);
  const ManifestFile* last = known == files_.end() ? nullptr : &known->second;
  struct stat st {};
  const int failed = ::stat(path.c_str(), &st) != 0 ? errno : 0;
  std::optional<Stamp> stamp;
  if (failed == 0) {
    stamp = stamp_of(st, now);
    const auto before = stamps_.find(name);
    if (stamp && before != stamps_.end() && before->second == *stamp) return;
  }
  ManifestFile read;
  if (failed != 0) {
    read = keep_last(last, errno_error(failed, path, "stat").context);
  } else if (!S_ISREG(st.st_mode)) {
    read = keep_last(last, "expected a regular file");  // opening a pipe would wait for its writer
  } else if (const auto text = kernel::read_file(path, max_bytes_); text) {
    read = read_manifest(*text, max_bytes_, last);
  } else {
    read = keep_last(last, text.error().context);
  }
  stamps_.erase(name);
  if (stamp && read.confirmed) stamps_.emplace(name, *stamp);
  files_[name] = std::move(read);
  ++generation_;
}

}  // namespace koordlet::states
