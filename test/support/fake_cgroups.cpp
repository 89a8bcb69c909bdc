#include "support/fake_cgroups.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

namespace koordlet::test {
namespace {

constexpr std::int64_t kUnlimitedRatio = -1;

/// to_ratio() of the kernel: 20 binary digits, truncated.
std::int64_t ratio(const CgroupValue& value) {
  const auto& max = std::get<CpuMax>(value);
  const auto& quota = max.quota.bound();
  return quota ? (quota->count() << 20) / max.period.count() : kUnlimitedRatio;
}

bool in_range(std::int64_t v, std::int64_t low, std::int64_t high) { return low <= v && v <= high; }

}  // namespace

FakeCgroups::FakeCgroups(CgroupVersion version, int cpus) : version_{version}, cpus_{cpus} {
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

CgroupPath FakeCgroups::make(std::string_view text) {
  const auto path = path_of(text);
  if (path.is_root() || groups_.contains(path)) return path;
  const auto parent = make(path.parent().str());
  Group group;
  group.inode = next_inode_++;
  const bool v1 = version_ == CgroupVersion::kV1;
  group.files[CgroupFile::kCpuMax] = CpuMax{};
  group.files[CgroupFile::kCpuBurst] = Number{0};
  group.files[CgroupFile::kCpuWeight] = Number{v1 ? 1024 : 100};
  group.files[CgroupFile::kCpuIdle] = Number{0};
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

void FakeCgroups::remove(const CgroupPath& path) {
  std::erase_if(groups_, [&](const auto& entry) {
    return entry.first == path || path.is_ancestor_of(entry.first);
  });
}

void FakeCgroups::set(const CgroupKey& key, const CgroupValue& value) {
  groups_.at(key.path).files.at(key.file) = value;
}

void FakeCgroups::set_unit(const CgroupKey& key, const CgroupValue& value) {
  groups_.at(key.path).unit[key.file] = value;
}

void FakeCgroups::daemon_reload() {
  for (auto& [path, group] : groups_) {
    for (const auto& [file, value] : group.unit) group.files[file] = value;
  }
}

void FakeCgroups::offer(const CgroupKey& key, const CgroupValue& value) {
  groups_.at(key.path).files[key.file] = value;
}

void FakeCgroups::withhold(const CgroupKey& key) { groups_.at(key.path).files.erase(key.file); }
void FakeCgroups::depopulate(const CgroupPath& path) { groups_.at(path).populated = false; }

void FakeCgroups::fail_next(const CgroupKey& key, Errc code, int times) {
  faults_.insert_or_assign(key, Fault{code, times});
}

void FakeCgroups::remove_during_write(const CgroupKey& key) { doomed_.insert(key); }

void FakeCgroups::on_write(std::function<void(const CgroupKey&, const CgroupValue&)> hook) {
  hook_ = std::move(hook);
}

std::vector<std::string> FakeCgroups::log_text() const {
  std::vector<std::string> out;
  for (const auto& w : log_) {
    out.push_back(fmt::format("{} = {}", to_string(w.key), to_string(w.value)));
  }
  return out;
}

std::string FakeCgroups::text(const CgroupKey& key) {
  const auto value = read(key);
  return value ? to_string(*value) : "-";
}

Result<CgroupValue> FakeCgroups::read(const CgroupKey& key) {
  ++reads_;
  const auto group = groups_.find(key.path);
  if (group == groups_.end()) return Error{Errc::kNotFound, file(key) + ": no such cgroup"};
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

Error FakeCgroups::refuse(Errc code,
                          const CgroupKey& key,
                          const CgroupValue& value,
                          const char* why) const {
  return Error{code, fmt::format("{}: write '{}': {}", file(key), to_string(value), why)};
}

Result<void> FakeCgroups::check_cpu_max(const CgroupKey& key, const CpuMax& value) const {
  const auto& quota = value.quota.bound();
  const auto refused = refuse(Errc::kInvalid, key, value, "Invalid argument");
  if (quota && quota->count() < 1000) return refused;
  if (!in_range(value.period.count(), 1000, 1'000'000)) return refused;
  if (version_ == CgroupVersion::kV2) return {};
  // The bound of each cgroup is its own ratio, or its parent's when it has none.
  std::map<CgroupPath, std::int64_t> bounds;
  for (const auto& [path, group] : groups_) {  // ancestors sort before descendants
    const auto found = group.files.find(CgroupFile::kCpuMax);
    auto own = found == group.files.end() ? kUnlimitedRatio : ratio(found->second);
    if (path == key.path) own = ratio(CgroupValue{value});
    const auto above = path.is_root() ? kUnlimitedRatio : bounds.at(path.parent());
    if (own != kUnlimitedRatio && above != kUnlimitedRatio && own > above) return refused;
    bounds[path] = own == kUnlimitedRatio ? above : own;
  }
  return {};
}

Result<void> FakeCgroups::check_cpuset(const CgroupKey& key, const CpuSet& value) const {
  const auto& group = groups_.at(key.path);
  const auto& current = std::get<CpuSet>(group.files.at(CgroupFile::kCpuset));
  if (group.populated && value.empty() && !current.empty()) {
    return refuse(Errc::kBusy, key, value, "No space left on device");
  }
  if (version_ == CgroupVersion::kV2) return {};
  if (!value.is_subset_of(CpuSet::range(0, cpus_ - 1))) {
    return refuse(Errc::kInvalid, key, value, "Invalid argument");
  }
  for (const auto& [path, child] : groups_) {
    if (path.is_root() || path.parent() != key.path) continue;
    const auto& set = std::get<CpuSet>(child.files.at(CgroupFile::kCpuset));
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

Result<CgroupValue> FakeCgroups::accept(Group& group,
                                        const CgroupKey& key,
                                        const CgroupValue& value) const {
  const auto invalid = refuse(Errc::kInvalid, key, value, "Invalid argument");
  const bool v1 = version_ == CgroupVersion::kV1;
  switch (key.file) {
    case CgroupFile::kCpuMax: {
      const auto ok = check_cpu_max(key, std::get<CpuMax>(value));
      if (!ok) return ok.error();
      const auto& quota = std::get<CpuMax>(value).quota.bound();
      const auto burst = std::get<Number>(group.files.at(CgroupFile::kCpuBurst)).v;
      if (quota && quota->count() < burst) return invalid;
      return value;
    }
    case CgroupFile::kCpuBurst: {
      const auto burst = std::get<Number>(value).v;
      const auto& quota = std::get<CpuMax>(group.files.at(CgroupFile::kCpuMax)).quota.bound();
      if (burst < 0 || (quota && quota->count() < burst)) return invalid;
      return value;
    }
    case CgroupFile::kCpuset: {
      const auto ok = check_cpuset(key, std::get<CpuSet>(value));
      if (!ok) return ok.error();
      return value;
    }
    case CgroupFile::kCpuWeight: {
      const auto n = std::get<Number>(value).v;
      if (group.files.at(CgroupFile::kCpuIdle) == CgroupValue{Number{1}}) return invalid;
      if (v1) return CgroupValue{Number{std::clamp<std::int64_t>(n, 2, 262'144)}};
      if (!in_range(n, 1, 10'000)) return invalid;
      return value;
    }
    case CgroupFile::kCpuIdle: {
      if (!in_range(std::get<Number>(value).v, 0, 1)) return invalid;
      const bool leaves =
          group.files.at(key.file) == CgroupValue{Number{1}} && value == CgroupValue{Number{0}};
      if (leaves) group.files[CgroupFile::kCpuWeight] = Number{v1 ? 1024 : 100};
      return value;
    }
    case CgroupFile::kCpuBvt:
      if (!in_range(std::get<Number>(value).v, -1, 2)) return invalid;
      return value;
    default: {
      const auto& bound = std::get<MemoryBound>(value).bound();
      if (!bound) return value;
      if (bound->v < 0) return invalid;
      return CgroupValue{MemoryBound{Bytes{bound->v / kPage * kPage}}};
    }
  }
}

Result<void> FakeCgroups::write(const CgroupKey& key, const CgroupValue& value) {
  ++attempts_;
  if (hook_) hook_(key, value);
  if (doomed_.erase(key) > 0) {
    remove(key.path);
    return refuse(Errc::kGone, key, value, "No such device");
  }
  const auto group = groups_.find(key.path);
  if (group == groups_.end() || !group->second.files.contains(key.file)) {
    return refuse(Errc::kNotFound, key, value, "No such file or directory");
  }
  if (const auto fault = faults_.find(key); fault != faults_.end() && fault->second.times > 0) {
    --fault->second.times;
    return refuse(fault->second.code, key, value, "injected");
  }
  if (key.path.is_root() || !holds_type_of(key.file, value)) {
    return refuse(Errc::kInvalid, key, value, "Invalid argument");
  }
  auto stored = accept(group->second, key, value);
  if (!stored) return stored.error();
  group->second.files[key.file] = std::move(*stored);
  log_.push_back({key, value});
  return {};
}

Result<kernel::Inode> FakeCgroups::inode(const CgroupKey& key) {
  const auto group = groups_.find(key.path);
  if (group == groups_.end()) return Error{Errc::kNotFound, key.path.str() + ": no such cgroup"};
  return group->second.inode;
}

Result<std::vector<std::string>> FakeCgroups::children(const CgroupPath& path) {
  if (!groups_.contains(path)) return Error{Errc::kNotFound, path.str() + ": no such cgroup"};
  std::vector<std::string> out;
  for (const auto& [other, group] : groups_) {
    if (!other.is_root() && other.parent() == path) out.emplace_back(other.name());
  }
  return out;
}

bool FakeCgroups::has(const CgroupKey& key) {
  const auto group = groups_.find(key.path);
  return group != groups_.end() && group->second.files.contains(key.file);
}

std::string FakeCgroups::file(const CgroupKey& key) const {
  return fmt::format("/fake/{}/{}", key.path.str(), koordlet::to_string(key.file));
}

CgroupPath path_of(std::string_view text) { return CgroupPath::parse(text).value(); }
CgroupKey key_of(std::string_view path, CgroupFile file) { return {path_of(path), file}; }
CgroupValue cpu_max(std::int64_t quota_us, std::int64_t period_us) {
  using std::chrono::microseconds;
  return CpuMax{Limit{microseconds{quota_us}}, microseconds{period_us}};
}
CgroupValue cpu_unlimited(std::int64_t period_us) {
  CpuMax out;
  out.period = std::chrono::microseconds{period_us};
  return out;
}
CgroupValue cpus(std::string_view list) { return CpuSet::parse(list).value(); }
CgroupValue bytes(std::int64_t n) { return MemoryBound{Bytes{n}}; }
CgroupValue bytes_unlimited() { return MemoryBound::unlimited(); }
CgroupValue number(std::int64_t n) { return Number{n}; }

}  // namespace koordlet::test
