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

std::optional<ManifestFolder::Stamp> stamp_of(const struct stat& st, WallTime now) {
  const ManifestFolder::Stamp stamp{
      st.st_dev, st.st_ino, st.st_size, to_ns(st.st_mtim), to_ns(st.st_ctim)};
  using std::chrono::nanoseconds;
  const auto now_ns = std::chrono::duration_cast<nanoseconds>(now.time_since_epoch()).count();
  const auto age = now_ns - std::max(stamp.modified_ns, stamp.changed_ns);
  if (age < nanoseconds{kRacy}.count()) return std::nullopt;
  return stamp;
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

std::optional<ManifestFolder::Job> ManifestFolder::next(WallTime now) {
  Job job;
  job.name = std::move(todo_.back());
  todo_.pop_back();
  job.path = fmt::format("{}/{}", folder_, job.name);
  job.max_bytes = max_bytes_;
  struct stat st {};
  if (::stat(job.path.c_str(), &st) != 0) {
    job.fault = errno_error(errno, job.path, "stat").context;
  } else if (!S_ISREG(st.st_mode)) {
    job.fault = "expected a regular file";  // opening a pipe would wait for its writer
  } else {
    job.stamp = stamp_of(st, now);
    const auto before = stamps_.find(job.name);
    if (job.stamp && before != stamps_.end() && before->second == *job.stamp) return std::nullopt;
  }
  if (const auto known = files_.find(job.name); known != files_.end()) job.last = known->second;
  return job;
}

ManifestFile ManifestFolder::run(const Job& job) {
  const ManifestFile* last = job.last ? &*job.last : nullptr;
  if (!job.fault.empty()) return keep_last(last, job.fault);
  const auto text = kernel::read_file(job.path, job.max_bytes);
  if (!text) return keep_last(last, text.error().context);
  return read_manifest(*text, job.max_bytes, last);
}

void ManifestFolder::apply(const Job& job, ManifestFile read) {
  stamps_.erase(job.name);
  if (job.stamp && read.confirmed) stamps_.emplace(job.name, *job.stamp);
  files_[job.name] = std::move(read);
  ++generation_;
}

Result<void> ManifestFolder::scan(WallTime now) {
  if (auto done = begin(); !done) return done;
  while (pending()) {
    if (const auto job = next(now)) apply(*job, run(*job));
  }
  return {};
}

}  // namespace koordlet::states
