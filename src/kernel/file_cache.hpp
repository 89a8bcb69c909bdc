#pragma once

#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/cgroup.hpp"
#include "base/result.hpp"
#include "kernel/fd.hpp"

namespace koordlet::kernel {

/// Kept-open files of cgroups: the least recently read is closed when there are more than `budget`,
/// and half of them when the process runs out of descriptors. One thread at a time.
class FileCache {
 public:
  /// A budget of 0 counts as 1. `writable`: files are kept open for writing as well.
  explicit FileCache(std::size_t budget, bool writable = false)
      : budget_{budget == 0 ? 1 : budget}, writable_{writable} {}

  /// Content of the file that `slot` stands for in `cgroup`; `make_path()` gives its absolute path
  /// when it must be opened. A kept file whose cgroup was removed is opened once more, so that a
  /// cgroup that was made anew under the same name is read and not mistaken. Errors: those of
  /// KeptFile. The view is valid until the next read on this thread.
  template <class MakePath>
  Result<std::string_view> read(const CgroupPath& cgroup,
                                std::uint32_t slot,
                                MakePath&& make_path,
                                bool may_be_empty = false) {
    if (auto* kept = find(cgroup, slot)) {
      auto content = kept->read();
      if (content || content.error().code != Errc::kGone) return content;
      forget(cgroup, slot);
    }
    return read_anew(cgroup, slot, make_path(), may_be_empty);
  }
  /// One write of `value` through the kept descriptor; a file that is not open, or whose cgroup was
  /// removed, is opened once more. For a cache that is writable. Errors: those of write_file().
  template <class MakePath>
  Result<void> write(const CgroupPath& cgroup,
                     std::uint32_t slot,
                     MakePath&& make_path,
                     std::string_view value) {
    if (auto* kept = find(cgroup, slot)) {
      auto done = kept->write(value);
      if (done || done.error().code != Errc::kGone) return done;
      forget(cgroup, slot);
    }
    return write_anew(cgroup, slot, make_path(), value);
  }
  void forget(const CgroupPath& cgroup, std::uint32_t slot);
  /// Closes the least recently read half; false when nothing was open.
  bool shed();
  std::size_t open_files() const { return entries_.size(); }

 private:
  struct Entry {
    std::string cgroup;
    std::uint32_t slot;
    KeptFile file;
  };
  struct Key {
    std::string_view cgroup;  ///< of the Entry: list nodes do not move
    std::uint32_t slot;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    std::size_t operator()(const Key& k) const {
      return std::hash<std::string_view>{}(k.cgroup) * 31 + k.slot;
    }
  };

  KeptFile* find(const CgroupPath& cgroup, std::uint32_t slot);
  Result<std::string_view> read_anew(const CgroupPath& cgroup,
                                     std::uint32_t slot,
                                     const std::string& path,
                                     bool may_be_empty);
  Result<void> write_anew(const CgroupPath& cgroup,
                          std::uint32_t slot,
                          const std::string& path,
                          std::string_view value);
  Result<KeptFile> open(const std::string& path, bool may_be_empty);
  void keep(const CgroupPath& cgroup, std::uint32_t slot, KeptFile file);
  void close_oldest();

  std::size_t budget_;
  bool writable_;
  std::list<Entry> entries_;  ///< most recently read first
  std::unordered_map<Key, std::list<Entry>::iterator, Hash> index_;
};

}  // namespace koordlet::kernel
