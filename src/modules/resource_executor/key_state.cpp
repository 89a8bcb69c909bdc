#include "modules/resource_executor/key_state.hpp"

#include <algorithm>
#include <unistd.h>

namespace koordlet::executor {
namespace {

constexpr std::chrono::minutes kContestWindow{1};

std::int64_t page_size() {
  static const std::int64_t size = ::sysconf(_SC_PAGESIZE);
  return size > 0 ? size : 4096;
}

}  // namespace

CgroupValue as_read_back(CgroupVersion version, CgroupFile file, const CgroupValue& value) {
  if (const auto* memory = std::get_if<MemoryBound>(&value)) {
    const auto& bound = memory->bound();
    if (!bound) return value;
    return MemoryBound{Bytes{bound->v - bound->v % page_size()}};
  }
  if (file == CgroupFile::kCpuWeight && version == CgroupVersion::kV1) {
    constexpr std::int64_t kMinShares = 2, kMaxShares = 262'144;  // kernel/sched: MIN_, MAX_SHARES
    return Number{std::clamp(std::get<Number>(value).v, kMinShares, kMaxShares)};
  }
  return value;
}

CgroupValue weight_under_idle(CgroupVersion version) {
  return Number{version == CgroupVersion::kV1 ? 3 : 0};  // WEIGHT_IDLEPRIO
}

bool is_kubelet_be_weight(CgroupVersion version, const CgroupKey& key, const CgroupValue& value) {
  if (key.file != CgroupFile::kCpuWeight) return false;
  const auto name = key.path.name();
  if (name != "besteffort" && name != "kubepods-besteffort.slice") return false;
  return value == CgroupValue{Number{version == CgroupVersion::kV1 ? 2 : 1}};
}

std::optional<CgroupValue> widest_cpuset(kernel::Cgroups& cgroups,
                                         const CgroupKey& key,
                                         const CgroupValue& value) {
  const auto* set = std::get_if<CpuSet>(&value);
  if (set == nullptr || !set->empty()) return std::nullopt;
  for (auto path = key.path; !path.is_root();) {
    path = path.parent();
    const auto above = cgroups.read({path, key.file});
    if (!above) continue;  // the v2 root has no such file
    if (!std::get<CpuSet>(*above).empty()) return *above;
  }
  const auto count = ::sysconf(_SC_NPROCESSORS_CONF);
  if (count <= 0) return std::nullopt;
  return CpuSet::range(0, static_cast<int>(std::min<long>(count, CpuSet::kMaxCpus)) - 1);
}

bool is_unit_property(const CgroupKey& key) {
  const auto name = key.path.name();
  if (!name.ends_with(".slice") && !name.ends_with(".scope")) return false;
  return key.file == CgroupFile::kCpuMax || key.file == CgroupFile::kMemoryHigh ||
         key.file == CgroupFile::kCpuIdle;
}

bool is_unit_rounding(const CgroupKey& key, const CgroupValue& written, const CgroupValue& found) {
  if (!is_unit_property(key)) return false;
  const auto* ours = std::get_if<CpuMax>(&written);
  const auto* theirs = std::get_if<CpuMax>(&found);
  if (ours == nullptr || theirs == nullptr || ours->period != theirs->period) return false;
  const auto& want = ours->quota.bound();
  const auto& have = theirs->quota.bound();
  const auto period = ours->period.count();
  if (!want || !have || period <= 0 || *have > *want) return false;
  return (want->count() - have->count()) * 100 <= period;  // at most 1 % of a CPU less
}

bool is_unit_rounding(const store::JournalEntry& entry, const CgroupValue& found) {
  for (const auto& text : {entry.next, entry.previous}) {
    const auto written = parse_cgroup_value(entry.key.file, text);
    if (written && is_unit_rounding(entry.key, *written, found)) return true;
  }
  return false;
}

Failure classify_failure(CgroupVersion version, CgroupFile file, Errc code) {
  switch (code) {
    case Errc::kNotFound:
    case Errc::kGone:
      return Failure::kGone;
    case Errc::kInvalid:
    case Errc::kRange:
    case Errc::kParse:
      return Failure::kRefused;
    case Errc::kDenied:
      // EACCES of a v1 cpuset means "not within the parent".
      return file == CgroupFile::kCpuset && version == CgroupVersion::kV1 ? Failure::kRefused
                                                                          : Failure::kUnsupported;
    case Errc::kNotSupported:
      return Failure::kUnsupported;
    case Errc::kBusy:
    case Errc::kIo:
      return Failure::kTransient;
  }
  return Failure::kTransient;
}

OutcomeKind outcome_of(Failure why) {
  switch (why) {
    case Failure::kGone:
      return OutcomeKind::kGone;
    case Failure::kTransient:
      return OutcomeKind::kPending;
    case Failure::kUnsupported:
      return OutcomeKind::kUnsupported;
    case Failure::kRefused:
      break;
  }
  return OutcomeKind::kRefused;
}

bool note_foreign(KeyState& state,
                  CgroupVersion version,
                  const CgroupKey& key,
                  const CgroupValue& found,
                  int limit,
                  MonoTime now) {
  ++state.foreign_writes;
  if (is_kubelet_be_weight(version, key, found)) return false;
  // systemd puts back the unit's value, which is what stood there before koordlet came.
  if (is_unit_property(key) && found == state.original) return false;
  if (state.written && is_unit_rounding(key, *state.written, found)) return false;
  age_contests(state, limit, now);
  state.contests.push_back(now);
  state.contested = state.contests.size() > static_cast<std::size_t>(std::max(limit, 0));
  return true;
}

void age_contests(KeyState& state, int limit, MonoTime now) {
  if (state.contests.empty()) {
    state.contested = state.contested && state.yielded_until.has_value();
    return;
  }
  std::erase_if(state.contests, [&](MonoTime t) { return now - t >= kContestWindow; });
  const bool many = state.contests.size() > static_cast<std::size_t>(std::max(limit, 0));
  state.contested = many || (state.contested && state.yielded_until.has_value());
}

}  // namespace koordlet::executor
