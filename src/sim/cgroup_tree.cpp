#include "sim/cgroup_tree.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/cgroup_io.hpp"

namespace koordlet::sim {
namespace {

constexpr std::int64_t kUnlimitedRatio = -1;
/// kernel/sched: MAX_BW.
constexpr std::int64_t kMaxQuotaUs = (std::int64_t{1} << 44) - 1;

/// to_ratio() of the kernel: 20 binary digits, truncated.
std::int64_t ratio(const CpuMax& max) {
  const auto& quota = max.quota.bound();
  if (!quota) return kUnlimitedRatio;
  return static_cast<std::int64_t>((static_cast<__int128>(quota->count()) << 20) /
                                   max.period.count());
}

bool in_range(std::int64_t v, std::int64_t low, std::int64_t high) { return low <= v && v <= high; }

}  // namespace

CgroupTree::CgroupTree(CgroupVersion version, int cpus) : version_{version}, cpus_{cpus} {
  Group root;
  root.inode = 1;
  if (version == CgroupVersion::kV1) {
    root.files[CgroupFile::kCpuset] = CpuSet::range(0, cpus - 1);
    root.files[CgroupFile::kCpuWeight] = Number{1024};
    root.files[CgroupFile::kCpuMax] = CpuMax{};
    root.files[CgroupFile::kMemoryMax] = MemoryBound::unlimited();
  }
  groups_.emplace(CgroupPath{}, std::move(root));
}

void CgroupTree::add_disk(std::string number) { disks_.insert(std::move(number)); }

bool CgroupTree::has_io(const CgroupKey& key) const {
  return !disks_.empty() && has_io_file(version_, key.file, key.path.is_root());
}

CgroupPath CgroupTree::make(const CgroupPath& path) {
  if (path.is_root() || groups_.contains(path)) return path;
  const auto parent = make(path.parent());
  Group group;
  group.inode = next_inode_++;
  const bool v1 = version_ == CgroupVersion::kV1;
  group.files[CgroupFile::kCpuMax] = CpuMax{};
  group.files[CgroupFile::kCpuWeight] = Number{v1 ? 1024 : 100};
  group.files[CgroupFile::kCpuIdle] = Number{0};
  group.files[CgroupFile::kCpuBurst] = Number{0};
  group.files[CgroupFile::kMemoryMax] = MemoryBound::unlimited();
  group.files[CgroupFile::kCpuset] =
      v1 ? groups_.at(parent).files.at(CgroupFile::kCpuset) : CgroupValue{CpuSet{}};
  if (!v1) {
    group.files[CgroupFile::kMemoryMin] = MemoryBound{Bytes{0}};
    group.files[CgroupFile::kMemoryLow] = MemoryBound{Bytes{0}};
    group.files[CgroupFile::kMemoryHigh] = MemoryBound::unlimited();
  }
  groups_.emplace(path, std::move(group));
  return path;
}

void CgroupTree::remove(const CgroupPath& path) {
  std::erase_if(groups_, [&](const auto& entry) {
    return entry.first == path || path.is_ancestor_of(entry.first);
  });
}

void CgroupTree::set(const CgroupKey& key, const CgroupValue& value) {
  groups_.at(key.path).files.at(key.file) = value;
}

void CgroupTree::offer(const CgroupKey& key, const CgroupValue& value) {
  groups_.at(key.path).files[key.file] = value;
}

void CgroupTree::withhold(const CgroupKey& key) { groups_.at(key.path).files.erase(key.file); }
void CgroupTree::depopulate(const CgroupPath& path) { groups_.at(path).populated = false; }

const CgroupValue* CgroupTree::peek(const CgroupKey& key) const {
  const auto group = groups_.find(key.path);
  if (group == groups_.end()) return nullptr;
  if (is_io_file(key.file)) {
    const auto line = group->second.lines.find({key.file, key.item});
    return line == group->second.lines.end() ? nullptr : &line->second;
  }
  const auto found = group->second.files.find(key.file);
  return found == group->second.files.end() ? nullptr : &found->second;
}

Result<CgroupValue> CgroupTree::read(const CgroupKey& key) {
  const auto group = groups_.find(key.path);
  if (group == groups_.end()) return Error{Errc::kNotFound, file(key) + ": no such cgroup"};
  if (has_io(key)) {
    const auto* line = peek(key);
    return line != nullptr ? *line : io_default(key.file);
  }
  const auto found = group->second.files.find(key.file);
  if (found == group->second.files.end()) {
    return Error{Errc::kNotFound, file(key) + ": no such file"};
  }
  if (key.file == CgroupFile::kCpuWeight) {
    const auto idle = group->second.files.find(CgroupFile::kCpuIdle);
    if (idle != group->second.files.end() && idle->second == CgroupValue{Number{1}}) {
      return CgroupValue{Number{version_ == CgroupVersion::kV1 ? 3 : 0}};
    }
  }
  return found->second;
}

Error CgroupTree::refuse(Errc code,
                         const CgroupKey& key,
                         const CgroupValue& value,
                         std::string_view why) const {
  return Error{code, fmt::format("{}: write '{}': {}", file(key), to_string(value), why)};
}

/// '-' is the smallest letter of a name, so "PATH/-" sorts before every group below PATH.
CgroupTree::Groups::const_iterator CgroupTree::first_below(const CgroupPath& path) const {
  return groups_.lower_bound(path.child("-"));
}

std::int64_t CgroupTree::own_ratio(const Group& group) const {
  const auto found = group.files.find(CgroupFile::kCpuMax);
  return found == group.files.end() ? kUnlimitedRatio : ratio(std::get<CpuMax>(found->second));
}

/// Of the nearest limited ancestor.
std::int64_t CgroupTree::ratio_above(const CgroupPath& path) const {
  for (CgroupPath above = path; !above.is_root();) {
    above = above.parent();
    const auto own = own_ratio(groups_.at(above));
    if (own != kUnlimitedRatio) return own;
  }
  return kUnlimitedRatio;
}

Result<void> CgroupTree::check_cpu_max(const CgroupKey& key, const CpuMax& value) const {
  const auto& quota = value.quota.bound();
  const bool fits = (!quota || in_range(quota->count(), 1000, kMaxQuotaUs)) &&
                    in_range(value.period.count(), 1000, 1'000'000);
  if (!fits) return refuse(Errc::kInvalid, key, value, "Invalid argument");
  if (version_ == CgroupVersion::kV2) return {};
  const auto above = ratio_above(key.path);
  const auto own = ratio(value);
  bool allowed = own == kUnlimitedRatio || above == kUnlimitedRatio || own <= above;
  const auto bound = own == kUnlimitedRatio ? above : own;
  if (bound != kUnlimitedRatio) {
    for (auto it = first_below(key.path); it != groups_.end() && key.path.is_ancestor_of(it->first);
         ++it) {
      allowed = allowed && own_ratio(it->second) <= bound;  // unlimited is -1: always below
    }
  }
  if (!allowed) return refuse(Errc::kInvalid, key, value, "Invalid argument");
  return {};
}

Result<void> CgroupTree::check_cpuset(const CgroupKey& key, const CpuSet& value) const {
  const auto& group = groups_.at(key.path);
  const auto& current = std::get<CpuSet>(group.files.at(CgroupFile::kCpuset));
  if (group.populated && value.empty() && !current.empty()) {
    return refuse(Errc::kBusy, key, value, "No space left on device");
  }
  if (version_ == CgroupVersion::kV2) return {};
  if (!value.is_subset_of(CpuSet::range(0, cpus_ - 1))) {
    return refuse(Errc::kInvalid, key, value, "Invalid argument");
  }
  for (auto it = first_below(key.path); it != groups_.end() && key.path.is_ancestor_of(it->first);
       ++it) {
    if (it->first.parent() != key.path) continue;
    const auto& set = std::get<CpuSet>(it->second.files.at(CgroupFile::kCpuset));
    if (!set.is_subset_of(value)) {
      return refuse(Errc::kBusy, key, value, "Device or resource busy");
    }
  }
  const auto& parent = groups_.at(key.path.parent()).files.at(CgroupFile::kCpuset);
  if (!value.is_subset_of(std::get<CpuSet>(parent))) {
    return refuse(Errc::kDenied, key, value, "Permission denied");
  }
  return {};
}

/// What the file holds after the write.
Result<CgroupValue> CgroupTree::accept(Group& group,
                                       const CgroupKey& key,
                                       const CgroupValue& value) const {
  const auto invalid = [&] { return refuse(Errc::kInvalid, key, value, "Invalid argument"); };
  const bool v1 = version_ == CgroupVersion::kV1;
  switch (key.file) {
    case CgroupFile::kCpuMax: {
      const auto ok = check_cpu_max(key, std::get<CpuMax>(value));
      if (!ok) return ok.error();
      const auto& quota = std::get<CpuMax>(value).quota.bound();
      const auto burst = group.files.find(CgroupFile::kCpuBurst);
      if (quota && burst != group.files.end() &&
          quota->count() < std::get<Number>(burst->second).v) {
        return invalid();
      }
      return value;
    }
    case CgroupFile::kCpuBurst: {
      const auto burst = std::get<Number>(value).v;
      const auto& quota = std::get<CpuMax>(group.files.at(CgroupFile::kCpuMax)).quota.bound();
      if (burst < 0 || (quota && quota->count() < burst)) return invalid();
      return value;
    }
    case CgroupFile::kCpuset: {
      const auto ok = check_cpuset(key, std::get<CpuSet>(value));
      if (!ok) return ok.error();
      return value;
    }
    case CgroupFile::kCpuWeight: {
      const auto n = std::get<Number>(value).v;
      if (group.files.at(CgroupFile::kCpuIdle) == CgroupValue{Number{1}}) return invalid();
      if (v1) return CgroupValue{Number{std::clamp<std::int64_t>(n, 2, 262'144)}};
      if (!in_range(n, 1, 10'000)) return invalid();
      return value;
    }
    case CgroupFile::kCpuIdle: {
      if (!in_range(std::get<Number>(value).v, 0, 1)) return invalid();
      const bool leaves =
          group.files.at(key.file) == CgroupValue{Number{1}} && value == CgroupValue{Number{0}};
      if (leaves) group.files[CgroupFile::kCpuWeight] = Number{v1 ? 1024 : 100};
      return value;
    }
    case CgroupFile::kCpuBvt:
      if (!in_range(std::get<Number>(value).v, -1, 2)) return invalid();
      return value;
    default: {
      if (traits_of(key.file).value != ValueKind::kBytes) return value;
      const auto& bound = std::get<MemoryBound>(value).bound();
      if (!bound) return value;
      if (bound->v < 0) return invalid();
      return CgroupValue{MemoryBound{Bytes{bound->v / kPage * kPage}}};
    }
  }
}

/// A line that says no more than none would is no longer shown.
Result<void> CgroupTree::write_io(Group& group, const CgroupKey& key, const CgroupValue& value) {
  if (!is_item_of(key.file, key.item)) {
    return refuse(Errc::kInvalid, key, value, "Invalid argument");
  }
  if (!disks_.contains(key.item)) return refuse(Errc::kGone, key, value, "No such device");
  auto stored = accept_io(version_, key.file, value);
  if (!stored) return refuse(stored.error().code, key, value, stored.error().context);
  group.lines.erase({key.file, key.item});
  if (*stored != io_default(key.file)) group.lines[{key.file, key.item}] = std::move(*stored);
  return {};
}

Result<void> CgroupTree::write(const CgroupKey& key, const CgroupValue& value) {
  const auto group = groups_.find(key.path);
  if (group != groups_.end() && has_io(key)) return write_io(group->second, key, value);
  if (group == groups_.end() || !group->second.files.contains(key.file)) {
    return refuse(Errc::kNotFound, key, value, "No such file or directory");
  }
  if (key.path.is_root() || !holds_type_of(key.file, value)) {
    return refuse(Errc::kInvalid, key, value, "Invalid argument");
  }
  auto stored = accept(group->second, key, value);
  if (!stored) return stored.error();
  group->second.files[key.file] = std::move(*stored);
  return {};
}

Result<kernel::Inode> CgroupTree::inode(const CgroupKey& key) {
  const auto group = groups_.find(key.path);
  if (group == groups_.end()) return Error{Errc::kNotFound, key.path.str() + ": no such cgroup"};
  return group->second.inode;
}

Result<std::vector<std::string>> CgroupTree::children(const CgroupPath& path) {
  if (!groups_.contains(path)) return Error{Errc::kNotFound, path.str() + ": no such cgroup"};
  std::vector<std::string> out;
  for (auto it = first_below(path); it != groups_.end() && path.is_ancestor_of(it->first); ++it) {
    if (it->first.parent() == path) out.emplace_back(it->first.name());
  }
  std::sort(out.begin(), out.end());
  return out;
}

bool CgroupTree::has(const CgroupKey& key) {
  const auto group = groups_.find(key.path);
  return group != groups_.end() && (has_io(key) || group->second.files.contains(key.file));
}

std::string CgroupTree::file(const CgroupKey& key) const {
  auto out = fmt::format("/simulated/{}/{}", key.path.str(), koordlet::to_string(key.file));
  return key.item.empty() ? out : fmt::format("{} {}", out, key.item);
}

}  // namespace koordlet::sim
