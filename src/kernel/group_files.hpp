#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/cgroup.hpp"
#include "base/result.hpp"
#include "kernel/fd.hpp"

namespace koordlet::kernel {

/// Kept-open files of many cgroups that are read one cgroup after the other: one row a cgroup, so
/// that its files share one look-up, and what it does not have is remembered. Over `budget` open
/// files the cgroup that was read longest ago loses its own; half of all do when the process runs
/// out of descriptors. One thread at a time.
class GroupFiles {
 public:
  static constexpr std::size_t kMaxSlots = 12;

  /// A budget of 0 counts as 1.
  explicit GroupFiles(std::size_t budget) : budget_{budget == 0 ? 1 : budget} {}

  struct Kind {
    std::size_t slot = 0;       ///< below kMaxSlots
    bool may_be_empty = false;  ///< no byte at all is a content
    /// Not every kernel or cgroup has it: when a living cgroup lacks it, the next 4 questions for
    /// this cgroup are answered with kNotSupported without asking the kernel, after the next
    /// failure 8, and so on up to 64. It may come later (a controller is switched on, a driver is
    /// found): the first such file of any cgroup ends all rest, and so does a sign that the cgroup
    /// was made anew.
    bool may_be_absent = false;
  };
  /// Content of the file of this kind in `cgroup`. `make_path()` gives its absolute path when it
  /// must be opened or named in an error; `explain(error)` turns a kNotFound into kNotSupported
  /// where the cgroup lives. A kept file whose cgroup was removed is opened once more, so that a
  /// cgroup made anew under the same name is read and not mistaken. Other errors: those of KeptFd.
  /// The view is valid until the next read on this thread.
  template <class MakePath, class Explain>
  Result<std::string_view> read(const CgroupPath& cgroup,
                                Kind kind,
                                MakePath&& make_path,
                                Explain&& explain) {
    auto& row = find_or_add(cgroup);
    auto& kept = row.slots[kind.slot];
    if (kept.file) {
      auto content = kept.file.read(make_path);
      if (content || content.error().code != Errc::kGone) return content;
      gone(row, kind.slot);
    } else if (must_rest(kept, kind.slot)) {
      return absent(make_path());
    }
    auto content = read_anew(row, kind, make_path());
    if (content) return content;
    auto error = explain(content.error());
    if (kind.may_be_absent && error.code == Errc::kNotSupported) begin_rest(kept, kind.slot);
    return error;
  }
  void forget(const CgroupPath& cgroup);  ///< closes its files, forgets what it lacks
  std::size_t open_files() const { return open_files_; }

 private:
  struct Slot {
    KeptFd file;
    std::uint8_t rest = 0;        ///< questions that are still answered from memory
    std::uint8_t lacks = 0;       ///< failures in a row
    bool seen_elsewhere = false;  ///< seen_[slot] when the rest began
  };
  struct Row {
    std::string cgroup;
    std::array<Slot, kMaxSlots> slots{};
    std::uint8_t open = 0;
  };
  using Rows = std::list<Row>;  // nodes do not move, so keys and iterators stay good

  Row& find_or_add(const CgroupPath& cgroup);
  bool must_rest(Slot& kept, std::size_t slot) const;
  static Error absent(const std::string& path);
  void gone(Row& row, std::size_t slot);
  void begin_rest(Slot& kept, std::size_t slot) const;
  Result<std::string_view> read_anew(Row& row, Kind kind, const std::string& path);
  void close(Row& row, std::size_t slot);
  std::size_t close_all(Row& row);
  void close_oldest(Row& keep);
  bool shed(Row& keep);

  std::size_t budget_;
  std::size_t open_files_ = 0;
  Rows open_;  ///< rows with an open file, most recently read first
  Rows idle_;  ///< rows without, most recently read first; at most `budget_` of them
  std::unordered_map<std::string_view, Rows::iterator> index_;
  Row* last_ = nullptr;                 ///< the row that was read last: first of its list
  std::array<bool, kMaxSlots> seen_{};  ///< any cgroup had the file, ever
};

}  // namespace koordlet::kernel
