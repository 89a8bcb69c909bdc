#include "kernel/file_cache.hpp"

#include <utility>

namespace koordlet::kernel {

KeptFile* FileCache::find(const CgroupPath& cgroup, std::uint32_t slot) {
  const auto it = index_.find(Key{cgroup.str(), slot});
  if (it == index_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, it->second);
  return &it->second->file;
}

Result<std::string_view> FileCache::read_anew(const CgroupPath& cgroup,
                                              std::uint32_t slot,
                                              const std::string& path,
                                              bool may_be_empty) {
  auto file = open(path, may_be_empty);
  if (!file) return file.error();
  auto content = file->read();
  if (!content) return content;  // not worth keeping
  keep(cgroup, slot, std::move(*file));
  return content;
}

Result<void> FileCache::write_anew(const CgroupPath& cgroup,
                                   std::uint32_t slot,
                                   const std::string& path,
                                   std::string_view value) {
  auto file = open(path, true);
  if (!file) return file.error();
  auto done = file->write(value);
  if (done) keep(cgroup, slot, std::move(*file));
  return done;
}

Result<KeptFile> FileCache::open(const std::string& path, bool may_be_empty) {
  auto file = KeptFile::open(path, may_be_empty, writable_);
  if (!file && file.error().code == Errc::kBusy && shed()) {
    file = KeptFile::open(path, may_be_empty, writable_);
  }
  return file;
}

void FileCache::keep(const CgroupPath& cgroup, std::uint32_t slot, KeptFile file) {
  while (entries_.size() >= budget_) close_oldest();
  entries_.push_front(Entry{cgroup.str(), slot, std::move(file)});
  index_.emplace(Key{entries_.front().cgroup, slot}, entries_.begin());
}

void FileCache::forget(const CgroupPath& cgroup, std::uint32_t slot) {
  const auto it = index_.find(Key{cgroup.str(), slot});
  if (it == index_.end()) return;
  const auto entry = it->second;
  index_.erase(it);  // before the entry: the key looks into it
  entries_.erase(entry);
}

bool FileCache::shed() {
  if (entries_.empty()) return false;
  for (auto left = (entries_.size() + 1) / 2; left > 0; --left) close_oldest();
  return true;
}

void FileCache::close_oldest() {
  const auto& oldest = entries_.back();
  index_.erase(Key{oldest.cgroup, oldest.slot});
  entries_.pop_back();
}

}  // namespace koordlet::kernel
