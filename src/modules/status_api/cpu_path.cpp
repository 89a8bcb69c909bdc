#include "modules/status_api/cpu_path.hpp"

#include "modules/status_api/json_text.hpp"

namespace koordlet::status_api {

namespace {

constexpr const char* kForeign = "not koordlet";
constexpr const char* kNobody = "nobody";

/// Fills the bound from a canonical text; a text that does not parse stays unknown.
void take_raw(PathLimit& limit, std::string_view raw) {
  const auto value = parse_cgroup_value(limit.key.file, raw);
  if (!value) return;
  limit.known = true;
  limit.raw = std::string{raw};
  if (const auto* max = std::get_if<CpuMax>(&*value)) {
    limit.milli = milli_of(*max);
  } else if (const auto* cpus = std::get_if<CpuSet>(&*value); cpus != nullptr && !cpus->empty()) {
    limit.milli = std::int64_t{cpus->count()} * 1000;
  }
}

bool from_held(const HeldIndex& index, PathLimit& limit) {
  const auto* held = index.find(limit.key);
  if (held == nullptr) return false;
  limit.file = held->file;
  if (held->raw.empty()) return true;  // not read yet: unknown
  take_raw(limit, held->raw);
  // Between a foreign write and the rewrite the kernel holds somebody else's value.
  limit.owner = held->raw == held->value ? held->plugin : kForeign;
  return true;
}

PathLimit cpu_max_of(const StatusView& view, const HeldIndex& index, const CgroupPath& path) {
  PathLimit limit;
  limit.key = {path, CgroupFile::kCpuMax};
  if (from_held(index, limit)) return limit;
  if (view.read_cpu_max) {
    if (const auto read = view.read_cpu_max(path)) {
      limit.file = read->file;
      take_raw(limit, to_string(CgroupValue{read->value}));
    }
  }
  if (!limit.known && view.be_root && view.be_root->path == path) {
    take_raw(limit, to_string(CgroupValue{view.be_root->cpu_max}));
  }
  if (limit.known) limit.owner = limit.milli ? kForeign : kNobody;
  return limit;
}

std::optional<PathLimit> be_cpuset(const StatusView& view, const HeldIndex& index, const Pod& pod) {
  if (!view.be_root || !view.be_root->path.is_ancestor_of(pod.cgroup)) return std::nullopt;
  PathLimit limit;
  limit.key = {view.be_root->path, CgroupFile::kCpuset};
  if (from_held(index, limit)) return limit;
  if (view.be_root->cpuset.empty()) return std::nullopt;
  take_raw(limit, view.be_root->cpuset.to_string());
  limit.owner = kForeign;
  return limit;
}

}  // namespace

std::vector<PathLimit> cpu_path(const StatusView& view, const HeldIndex& held, const Pod& pod) {
  std::vector<PathLimit> out;
  for (CgroupPath at = pod.cgroup; !at.is_root(); at = at.parent()) {
    out.push_back(cpu_max_of(view, held, at));
  }
  if (auto cpus = be_cpuset(view, held, pod)) out.push_back(std::move(*cpus));
  return out;
}

const PathLimit* smallest(const std::vector<PathLimit>& path) {
  const PathLimit* best = nullptr;
  for (const auto& limit : path) {
    if (!limit.known || !limit.milli) continue;
    if (best == nullptr || *limit.milli < *best->milli) best = &limit;
  }
  return best;
}

}  // namespace koordlet::status_api
