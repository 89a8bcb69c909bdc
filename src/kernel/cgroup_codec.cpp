#include "kernel/cgroup_codec.hpp"

#include <limits>

#include <fmt/format.h>

#include "base/parse.hpp"

namespace koordlet::kernel {
namespace {

using std::chrono::microseconds;

/// v1 shows "no limit" as the largest multiple of a page in a signed 64-bit number.
constexpr std::uint64_t kV1NoMemoryLimit = 0x7FFF'FFFF'FFFF'F000;

constexpr std::int64_t kMinQuotaUs = 1000;
constexpr std::int64_t kMaxQuotaUs = (std::int64_t{1} << 44) - 1;
constexpr std::int64_t kMaxBurstV1Us = 100'000'000;
constexpr std::int64_t kMinPeriodUs = 1000;
constexpr std::int64_t kMaxPeriodUs = 1'000'000;

struct Range {
  std::int64_t min, max;
};

Range number_range(CgroupVersion version, CgroupFile file) {
  switch (file) {
    case CgroupFile::kCpuWeight:
      return version == CgroupVersion::kV1 ? Range{2, 262'144} : Range{1, 10'000};
    case CgroupFile::kCpuBurst:
      return {0, version == CgroupVersion::kV1 ? kMaxBurstV1Us : kMaxQuotaUs};
    case CgroupFile::kCpuIdle:
    case CgroupFile::kMemoryOomGroup:
    case CgroupFile::kMemoryUsePriorityOom:
    case CgroupFile::kPageCacheLimitEnable:
    case CgroupFile::kPageCacheLimitSync:
    case CgroupFile::kMemcgReapBackground:
    case CgroupFile::kGroupIdentityEnabled:
    case CgroupFile::kPageCacheLimitGlobal:
    case CgroupFile::kSchedFeature:
      return {0, 1};
    case CgroupFile::kCpuBvt:
      return {-1, 2};
    case CgroupFile::kMemoryWmarkRatio:
      return {0, 100};
    case CgroupFile::kMemoryWmarkScale:
      return {1, 1000};
    case CgroupFile::kMemoryWmarkMinAdj:
      return {-25, 50};
    case CgroupFile::kMemoryPriority:
      return {0, 12};
    case CgroupFile::kIoWeight:  // the vendor's v1 file knows 1..100 only
      return version == CgroupVersion::kV1 ? Range{1, 100} : Range{1, 10'000};
    case CgroupFile::kMinFreeKbytes:
      return {10'240, 10'485'760};
    case CgroupFile::kWatermarkScaleFactor:
      return {10, 400};
    default:
      return {0, std::numeric_limits<std::int64_t>::max()};
  }
}

Error as_parse(Error e) {
  e.code = Errc::kParse;  // what the kernel shows is never "our" range fault
  return e;
}

bool is_memory(CgroupFile file) { return traits_of(file).value == ValueKind::kBytes; }

Result<CgroupValue> decode_memory_v1(std::string_view text) {
  text = trim(text);
  if (text == "max") return CgroupValue{MemoryBound::unlimited()};  // vendor memory.min/low/high
  const auto n = parse_u64(text);
  if (!n) return as_parse(n.error());
  if (*n >= kV1NoMemoryLimit) return CgroupValue{MemoryBound::unlimited()};
  return CgroupValue{MemoryBound{Bytes{static_cast<std::int64_t>(*n)}}};
}

std::string check_cpu_max(const CpuMax& c) {
  if (c.period.count() < kMinPeriodUs || c.period.count() > kMaxPeriodUs) {
    return fmt::format("a period of {}..{} us", kMinPeriodUs, kMaxPeriodUs);
  }
  const auto& q = c.quota.bound();
  if (q && (q->count() < kMinQuotaUs || q->count() > kMaxQuotaUs)) {
    return fmt::format("a quota of {}..{} us or unlimited", kMinQuotaUs, kMaxQuotaUs);
  }
  return {};
}

/// 0 would stop all IO on v2 and is no limit on v1.
std::string check_io_max(const IoMax& io) {
  for (const auto* rate : {&io.read_bytes, &io.write_bytes, &io.read_ops, &io.write_ops}) {
    if (rate->bound() && *rate->bound() <= 0) return "rates above 0, or max";
  }
  return {};
}

/// What would have been right; empty when the value is.
std::string expected(CgroupVersion version, CgroupFile file, const CgroupValue& value) {
  if (!holds_type_of(file, value)) return fmt::format("a value of the kind of {}", to_string(file));
  if (const auto* c = std::get_if<CpuMax>(&value)) return check_cpu_max(*c);
  if (const auto* s = std::get_if<CpuSet>(&value)) {
    return s->empty() && version == CgroupVersion::kV1 ? "at least one CPU" : "";
  }
  if (const auto* m = std::get_if<MemoryBound>(&value)) {
    return m->bound() && m->bound()->v < 0 ? "0 bytes or more, or unlimited" : "";
  }
  if (const auto* io = std::get_if<IoMax>(&value)) return check_io_max(*io);
  if (const auto* line = std::get_if<Line>(&value)) return line->v.empty() ? "settings" : "";
  const auto n = std::get<Number>(value).v;
  const auto range = number_range(version, file);
  if (n >= range.min && n <= range.max) return {};
  return fmt::format("{}..{}", range.min, range.max);
}

}  // namespace

Result<CgroupValue> decode(CgroupVersion version, CgroupFile file, std::string_view text) {
  if (version == CgroupVersion::kV1 && is_memory(file)) return decode_memory_v1(text);
  auto value = parse_cgroup_value(file, text);
  if (!value) return as_parse(value.error());
  return value;
}

Result<Limit<microseconds>> decode_quota_v1(std::string_view text) {
  const auto n = parse_i64(trim(text));
  if (!n) return as_parse(n.error());
  if (*n == -1) return Limit<microseconds>::unlimited();
  if (*n <= 0) {
    return Error{Errc::kParse, fmt::format("expected a quota above 0 or -1, got {}", *n)};
  }
  return Limit{microseconds{*n}};
}

Result<microseconds> decode_period_v1(std::string_view text) {
  const auto n = parse_i64(trim(text));
  if (!n) return as_parse(n.error());
  if (*n <= 0) return Error{Errc::kParse, fmt::format("expected a period above 0, got {}", *n)};
  return microseconds{*n};
}

std::string encode(CgroupVersion version, CgroupFile file, const CgroupValue& value) {
  if (version == CgroupVersion::kV2) {
    const auto text = to_string(value);
    return text.empty() ? "\n" : text;  // an empty cpuset: a write of no byte would do nothing
  }
  if (const auto* c = std::get_if<CpuMax>(&value)) {
    return c->quota.bound() ? fmt::format("{}", c->quota.bound()->count()) : "-1";
  }
  if (file == CgroupFile::kMemoryMax && std::get<MemoryBound>(value).is_unlimited()) return "-1";
  return to_string(value);
}

Result<void> check_range(CgroupVersion version, const CgroupKey& key, const CgroupValue& value) {
  if (!is_item_of(key.file, key.item)) {
    return Error{Errc::kRange,
                 fmt::format("{}: '{}' is no setting of this file", to_string(key), key.item)};
  }
  const auto want = expected(version, key.file, value);
  if (want.empty()) return {};
  return Error{Errc::kRange,
               fmt::format("{}: expected {}, got '{}'", to_string(key), want, to_string(value))};
}

}  // namespace koordlet::kernel
