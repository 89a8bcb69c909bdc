#include "runtime/unit_property.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/parse.hpp"

namespace koordlet::runtime {
namespace {

constexpr std::int64_t kSecondUs = 1'000'000;
constexpr std::chrono::microseconds kDefaultPeriod{100'000};  // systemd: CPU_QUOTA_PERIOD_DEFAULT
/// systemd notes the share in whole percent of a CPU: "0%" is refused when it is read again.
constexpr std::uint64_t kLeastShare = 10'000;
constexpr std::uint64_t kWeightOfIdle = 0;     // systemd: CGROUP_WEIGHT_IDLE
constexpr std::uint64_t kDefaultWeight = 100;  // kernel and systemd: CGROUP_WEIGHT_DEFAULT

std::uint64_t or_infinity(const std::optional<Bytes>& bound) {
  return bound && bound->v >= 0 ? static_cast<std::uint64_t>(bound->v) : kUnitInfinity;
}

void add_cpu_max(const CgroupValue& value, std::vector<UnitProperty>& out) {
  const auto* max = std::get_if<CpuMax>(&value);
  if (max == nullptr || max->period.count() <= 0) return;
  std::uint64_t share = kUnitInfinity;
  if (const auto& quota = max->quota.bound()) {
    if (quota->count() <= 0 || quota->count() > INT64_MAX / kSecondUs) return;
    const auto period = max->period.count();
    // Rounded up: floor(share * period / 1 s) is the quota again, for any period up to 1 s.
    share = static_cast<std::uint64_t>((quota->count() * kSecondUs + period - 1) / period);
    if (share < kLeastShare) return;
  }
  const auto period = max->period == kDefaultPeriod
                          ? kUnitInfinity
                          : static_cast<std::uint64_t>(max->period.count());
  out.push_back({"CPUQuotaPerSecUSec", share});
  out.push_back({"CPUQuotaPeriodUSec", period});
}

void add_weight(const UnitFiles& files, bool idle_changed, std::vector<UnitProperty>& out) {
  const auto number = [&](CgroupFile file) -> std::optional<std::int64_t> {
    const auto found = files.find(file);
    if (found == files.end()) return std::nullopt;
    const auto* n = std::get_if<Number>(&found->second);
    return n == nullptr ? std::nullopt : std::optional{n->v};
  };
  const auto idle = number(CgroupFile::kCpuIdle);
  const auto weight = number(CgroupFile::kCpuWeight);
  if (idle == 1) {
    out.push_back({"CPUWeight", kWeightOfIdle});
  } else if (weight && *weight > 0) {
    out.push_back({"CPUWeight", static_cast<std::uint64_t>(*weight)});
  } else if (idle == 0 && idle_changed) {
    out.push_back({"CPUWeight", kDefaultWeight});
  }
}

void add_cpuset(const CgroupValue& value, std::vector<UnitProperty>& out) {
  const auto* set = std::get_if<CpuSet>(&value);
  if (set == nullptr) return;
  std::vector<std::uint8_t> bits;
  for (int cpu = 0; cpu < CpuSet::kMaxCpus; ++cpu) {
    if (!set->contains(cpu)) continue;
    bits.resize(static_cast<std::size_t>(cpu) / 8 + 1);
    bits.back() = static_cast<std::uint8_t>(bits.back() | 1u << (cpu % 8));
  }
  out.push_back({"AllowedCPUs", std::move(bits)});
}

void add_memory(const char* name, const CgroupValue& value, std::vector<UnitProperty>& out) {
  if (const auto* bound = std::get_if<MemoryBound>(&value)) {
    out.push_back({name, or_infinity(bound->bound())});
  }
}

const char* memory_name(CgroupFile file) {
  switch (file) {
    case CgroupFile::kMemoryMin:
      return "MemoryMin";
    case CgroupFile::kMemoryLow:
      return "MemoryLow";
    case CgroupFile::kMemoryHigh:
      return "MemoryHigh";
    case CgroupFile::kMemoryMax:
      return "MemoryMax";
    default:
      return nullptr;
  }
}

/// Name to value, the last one of a name, as systemd reads a unit file.
using Settings = std::map<std::string, std::string, std::less<>>;
void read_settings(std::string_view text, Settings& out) {
  while (const auto next = next_line(text)) {
    const auto line = trim(*next);
    if (line.empty() || line[0] == '#' || line[0] == ';' || line[0] == '[') continue;
    const auto equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    out[std::string{trim(line.substr(0, equals))}] = trim(line.substr(equals + 1));
  }
}

/// One spelling for what systemd takes when nothing is said.
std::string_view plain(std::string_view name, std::string_view value) {
  if (name == "CPUWeight") return value == "100" ? std::string_view{} : value;
  if (name == "MemoryMin" || name == "MemoryLow") return value == "0" ? std::string_view{} : value;
  return value == "infinity" ? std::string_view{} : value;
}

}  // namespace

std::ostream& operator<<(std::ostream& os, const UnitProperty& p) {
  os << p.name << '=';
  if (const auto* number = std::get_if<std::uint64_t>(&p.value)) {
    return *number == kUnitInfinity ? os << "infinity" : os << *number;
  }
  return os << fmt::format("{:02x}", fmt::join(std::get<1>(p.value), ""));
}

std::optional<std::string> unit_of(const CgroupPath& path) {
  const auto name = path.name();
  if (!name.ends_with(".slice") && !name.ends_with(".scope")) return std::nullopt;
  for (auto above = path.parent(); !above.is_root(); above = above.parent()) {
    if (!above.name().ends_with(".slice")) return std::nullopt;
  }
  return std::string{name};
}

bool has_unit_property(CgroupFile file) { return !unit_settings(file).empty(); }

std::vector<UnitProperty> unit_properties(const UnitFiles& files,
                                          const std::set<CgroupFile>& changed) {
  std::vector<UnitProperty> out;
  const bool idle = changed.contains(CgroupFile::kCpuIdle);
  if (idle || changed.contains(CgroupFile::kCpuWeight)) add_weight(files, idle, out);
  for (const auto file : changed) {
    const auto found = files.find(file);
    if (found == files.end()) continue;
    if (file == CgroupFile::kCpuMax) add_cpu_max(found->second, out);
    if (file == CgroupFile::kCpuset) add_cpuset(found->second, out);
    if (const auto* name = memory_name(file)) add_memory(name, found->second, out);
  }
  return out;
}

std::vector<std::string_view> unit_settings(CgroupFile file) {
  switch (file) {
    case CgroupFile::kCpuMax:
      return {"CPUQuota", "CPUQuotaPeriodSec"};
    case CgroupFile::kCpuWeight:
    case CgroupFile::kCpuIdle:
      return {"CPUWeight"};
    case CgroupFile::kCpuset:
      return {"AllowedCPUs"};
    default:
      break;
  }
  if (const auto* name = memory_name(file)) return {name};
  return {};
}

bool is_redundant_drop_in(std::string_view drop_in, const std::vector<std::string>& others) {
  Settings own, rest;
  read_settings(drop_in, own);
  for (const auto& text : others) read_settings(text, rest);
  return std::all_of(own.begin(), own.end(), [&](const auto& setting) {
    const auto& [name, value] = setting;
    const auto found = rest.find(name);
    const std::string_view before = found == rest.end() ? std::string_view{} : found->second;
    return plain(name, value) == plain(name, before);
  });
}

}  // namespace koordlet::runtime
