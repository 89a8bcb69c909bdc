#include "kernel/group_files.hpp"

#include <algorithm>

namespace koordlet::kernel {
namespace {

constexpr unsigned kFirstRest = 4, kLongestRest = 64;

}  // namespace

GroupFiles::Row& GroupFiles::find_or_add(const CgroupPath& cgroup) {
  if (last_ != nullptr && last_->cgroup == cgroup.str()) return *last_;
  const auto known = index_.find(cgroup.str());
  if (known != index_.end()) {
    const auto row = known->second;
    auto& list = row->open > 0 ? open_ : idle_;
    list.splice(list.begin(), list, row);
    return *(last_ = &*row);
  }
  idle_.push_front(Row{cgroup.str()});
  index_.emplace(idle_.front().cgroup, idle_.begin());
  last_ = &idle_.front();
  while (idle_.size() > budget_ + 1) {
    index_.erase(idle_.back().cgroup);
    idle_.pop_back();
  }
  return *last_;
}

bool GroupFiles::must_rest(Slot& kept, std::size_t slot) const {
  if (kept.rest == 0) return false;
  if (seen_[slot] && !kept.seen_elsewhere) {  // this kernel has the file after all
    kept.rest = kept.lacks = 0;
    return false;
  }
  --kept.rest;
  return true;
}

Error GroupFiles::absent(const std::string& path) {
  return {Errc::kNotSupported, path + ": was not there when it was looked for; again later"};
}

void GroupFiles::begin_rest(Slot& kept, std::size_t slot) const {
  const auto rest = std::min(kFirstRest << std::min<unsigned>(kept.lacks, 8), kLongestRest);
  kept.rest = static_cast<std::uint8_t>(rest);
  kept.lacks = static_cast<std::uint8_t>(std::min<unsigned>(kept.lacks + 1u, 8));
  kept.seen_elsewhere = seen_[slot];
}

/// The cgroup was removed: what stands under its name now may have other files.
void GroupFiles::gone(Row& row, std::size_t slot) {
  close(row, slot);
  for (auto& other : row.slots) other.rest = other.lacks = 0;
}

Result<std::string_view> GroupFiles::read_anew(Row& row, Kind kind, const std::string& path) {
  auto file = KeptFd::open(path, kind.may_be_empty);
  if (!file && file.error().code == Errc::kBusy && shed(row)) {
    file = KeptFd::open(path, kind.may_be_empty);
  }
  if (!file) return file.error();
  auto content = file->read([&]() -> const std::string& { return path; });
  if (!content) return content;  // not worth keeping
  while (open_files_ >= budget_) close_oldest(row);
  if (row.open++ == 0) open_.splice(open_.begin(), idle_, index_.find(row.cgroup)->second);
  ++open_files_;
  row.slots[kind.slot] = Slot{std::move(*file)};
  seen_[kind.slot] = true;
  return content;
}

void GroupFiles::close(Row& row, std::size_t slot) {
  row.slots[slot].file = KeptFd{};
  --open_files_;
  if (--row.open == 0) idle_.splice(idle_.begin(), open_, index_.find(row.cgroup)->second);
}

std::size_t GroupFiles::close_all(Row& row) {
  const std::size_t before = row.open;
  for (std::size_t slot = 0; slot < kMaxSlots; ++slot) {
    if (row.slots[slot].file) close(row, slot);
  }
  return before;
}

void GroupFiles::close_oldest(Row& keep) {
  auto& oldest = open_.back();
  if (&oldest != &keep) {
    close_all(oldest);
    return;
  }
  for (std::size_t slot = 0; slot < kMaxSlots; ++slot) {  // a budget below one row's files
    if (keep.slots[slot].file) return close(keep, slot);
  }
}

bool GroupFiles::shed(Row& keep) {
  if (open_files_ == 0) return false;
  const auto enough = open_files_ - (open_files_ + 1) / 2;
  while (open_files_ > enough) close_oldest(keep);
  return true;
}

void GroupFiles::forget(const CgroupPath& cgroup) {
  const auto known = index_.find(cgroup.str());
  if (known == index_.end()) return;
  const auto row = known->second;
  if (last_ == &*row) last_ = nullptr;
  close_all(*row);
  index_.erase(known);  // before the row: the key looks into it
  idle_.erase(row);
}

}  // namespace koordlet::kernel
