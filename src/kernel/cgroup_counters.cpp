#include "kernel/cgroup_counters.hpp"

#include <limits>
#include <unistd.h>

#include <fmt/format.h>

#include "base/parse.hpp"
#include "kernel/cgroup_names.hpp"
#include "kernel/file_cache.hpp"
#include "kernel/flat_keyed.hpp"
#include "kernel/numa.hpp"

namespace koordlet::kernel {
namespace {

using std::chrono::nanoseconds;

enum Slot : std::uint32_t {
  kCpuUsage,
  kCpuStat,
  kMemoryStat,
  kMemoryUsage,
  kCpuPressure,
  kMemoryPressure,
  kIoPressure,
  kIoStat,
  kIoServiced,  ///< v1 only
  kNumaStat,
  kSlots
};

FileName name_of(Slot slot) {
  switch (slot) {
    case kCpuUsage:
      return {"cpuacct", "cpuacct.usage", "cpu.stat"};
    case kCpuStat:
      return {"cpu", "cpu.stat", "cpu.stat"};
    case kMemoryStat:
      return {"memory", "memory.stat", "memory.stat"};
    case kMemoryUsage:
      return {"memory", "memory.usage_in_bytes", "memory.current"};
    case kCpuPressure:
      return {"cpuacct", "cpu.pressure", "cpu.pressure"};
    case kMemoryPressure:
      return {"cpuacct", "memory.pressure", "memory.pressure"};
    case kIoPressure:
      return {"cpuacct", "io.pressure", "io.pressure"};
    case kIoStat:
      return {"blkio", "blkio.throttle.io_service_bytes_recursive", "io.stat"};
    case kIoServiced:
      return {"blkio", "blkio.throttle.io_serviced_recursive", "io.stat"};
    case kNumaStat:
      return {"memory", "memory.numa_stat", "memory.numa_stat"};
    case kSlots:
      break;
  }
  return {};
}

/// A cgroup that did no IO has an empty file.
bool may_be_empty(Slot slot) { return slot == kIoStat || slot == kIoServiced; }

/// Where the kernel has no such file, looking for it in every cgroup would cost an open each: after
/// 16 living cgroups in a row lacked it, only each 64th question is asked (a controller may come).
class Absence {
 public:
  const Error* known(Slot slot) {
    auto& file = files_[slot];
    if (file.lacking < kSure) return nullptr;
    return ++file.asked % kAskAgain == 0 ? nullptr : &file.error;
  }
  void note(Slot slot, const Error& error) {
    if (error.code != Errc::kNotSupported) return;
    auto& file = files_[slot];
    file.error = error;
    if (file.lacking < kSure) ++file.lacking;
  }
  void found(Slot slot) { files_[slot].lacking = 0; }

 private:
  static constexpr unsigned kSure = 16, kAskAgain = 64;
  struct File {
    Error error{};
    unsigned lacking = 0, asked = 0;
  };
  File files_[kSlots];
};

/// `value` units of `unit` ns each.
Result<nanoseconds> to_time(std::uint64_t value, std::int64_t unit) {
  if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max() / unit)) {
    return Error{Errc::kParse, fmt::format("expected a time, got {}: out of range", value)};
  }
  return nanoseconds{static_cast<std::int64_t>(value) * unit};
}

Result<Bytes> to_bytes(std::uint64_t value) {
  if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return Error{Errc::kParse, fmt::format("expected bytes, got {}: out of range", value)};
  }
  return Bytes{static_cast<std::int64_t>(value)};
}

Result<std::uint64_t> whole_number(std::string_view text) {
  auto n = parse_u64(trim(text));
  if (!n) return Error{Errc::kParse, n.error().context};
  return n;
}

Result<CpuCounters> parse_usage(CgroupVersion version, std::string_view text) {
  const bool v1 = version == CgroupVersion::kV1;
  std::uint64_t value = 0;
  if (v1) {
    const auto n = whole_number(text);
    if (!n) return n.error();
    value = *n;
  } else {
    WantedKey wanted[] = {{"usage_usec"}};
    if (const auto ok = read_keys(text, wanted); !ok) return ok.error();
    if (const auto ok = require_all(wanted); !ok) return ok.error();
    value = *wanted[0].value;
  }
  const auto usage = to_time(value, v1 ? 1 : 1000);
  if (!usage) return usage.error();
  return CpuCounters{*usage};
}

Result<ThrottleCounters> parse_throttle(CgroupVersion version, std::string_view text) {
  const bool v1 = version == CgroupVersion::kV1;
  WantedKey wanted[] = {
      {"nr_periods"}, {"nr_throttled"}, {v1 ? "throttled_time" : "throttled_usec"}};
  if (const auto ok = read_keys(text, wanted); !ok) return ok.error();
  if (!v1 && !wanted[0].value && !wanted[1].value && !wanted[2].value) {
    return Error{Errc::kNotSupported, "no throttling counters: no cpu controller in this cgroup"};
  }
  if (const auto ok = require_all(wanted); !ok) return ok.error();
  const auto time = to_time(*wanted[2].value, v1 ? 1 : 1000);
  if (!time) return time.error();
  return ThrottleCounters{*wanted[0].value, *wanted[1].value, *time};
}

/// v1 has each key twice; with "total_" it counts the whole subtree, as all keys of v2 do.
Result<MemoryStat> parse_memory(CgroupVersion version, std::string_view text) {
  const bool v1 = version == CgroupVersion::kV1;
  WantedKey wanted[] = {{v1 ? "total_inactive_anon" : "inactive_anon"},
                        {v1 ? "total_active_anon" : "active_anon"},
                        {v1 ? "total_inactive_file" : "inactive_file"},
                        {v1 ? "total_active_file" : "active_file"},
                        {v1 ? "total_unevictable" : "unevictable"}};
  if (const auto ok = read_keys(text, wanted); !ok) return ok.error();
  if (const auto ok = require_all(wanted); !ok) return ok.error();
  MemoryStat out;
  Bytes* const fields[] = {
      &out.inactive_anon, &out.active_anon, &out.inactive_file, &out.active_file, &out.unevictable};
  for (std::size_t i = 0; i < std::size(wanted); ++i) {
    const auto bytes = to_bytes(*wanted[i].value);
    if (!bytes) return wrap(wanted[i].key, bytes.error());
    *fields[i] = *bytes;
  }
  return out;
}

}  // namespace

struct CgroupCounters::Impl {
  HostRoots roots;
  CgroupVersion version;
  FileCache cache;
  Absence absent{};

  std::string file(const CgroupPath& path, Slot slot) const {
    return cgroup_file(roots, version, name_of(slot), path);
  }

  template <class Parse>
  auto read(const CgroupPath& path, Slot slot, Parse&& parse)
      -> decltype(parse(std::string_view{})) {
    // On v2 usage and throttling stand in one file: one descriptor for both.
    const auto kept = version == CgroupVersion::kV2 && slot == kCpuUsage ? kCpuStat : slot;
    const auto text = cache.read(
        path, kept, [&] { return file(path, slot); }, may_be_empty(slot));
    if (!text) {
      return explain_missing(text.error(), roots, version, name_of(slot).controller, path);
    }
    auto value = parse(*text);
    if (!value) return wrap(file(path, slot), value.error());
    return value;
  }
  template <class Parse>
  auto read_optional(const CgroupPath& path, Slot slot, Parse&& parse)
      -> decltype(parse(std::string_view{}));
};

/// For files that whole kernels lack.
template <class Parse>
auto CgroupCounters::Impl::read_optional(const CgroupPath& path, Slot slot, Parse&& parse)
    -> decltype(parse(std::string_view{})) {
  if (const auto* known = absent.known(slot)) return *known;
  auto value = read(path, slot, parse);
  if (value) {
    absent.found(slot);
  } else {
    absent.note(slot, value.error());
  }
  return value;
}

CgroupCounters::CgroupCounters(HostRoots roots,
                               CgroupVersion version,
                               std::size_t descriptor_budget)
    : impl_{std::make_unique<Impl>(Impl{std::move(roots), version, FileCache{descriptor_budget}})} {
}
CgroupCounters::~CgroupCounters() = default;

Result<CpuCounters> CgroupCounters::cpu(const CgroupPath& path) {
  return impl_->read(
      path, kCpuUsage, [&](std::string_view text) { return parse_usage(impl_->version, text); });
}

Result<ThrottleCounters> CgroupCounters::throttle(const CgroupPath& path) {
  return impl_->read(
      path, kCpuStat, [&](std::string_view text) { return parse_throttle(impl_->version, text); });
}

Result<MemoryStat> CgroupCounters::memory(const CgroupPath& path) {
  if (path.is_root()) {
    return Error{Errc::kNotSupported,
                 fmt::format("{}: not read for the root: it costs a flush of the whole machine",
                             impl_->file(path, kMemoryStat))};
  }
  return impl_->read(
      path, kMemoryStat, [&](std::string_view text) { return parse_memory(impl_->version, text); });
}

Result<Bytes> CgroupCounters::memory_usage(const CgroupPath& path) {
  return impl_->read(path, kMemoryUsage, [](std::string_view text) -> Result<Bytes> {
    const auto n = whole_number(text);
    if (!n) return n.error();
    return to_bytes(*n);
  });
}

Result<Psi> CgroupCounters::pressure(const CgroupPath& path, std::string_view resource) {
  const auto slot = resource == "cpu"      ? kCpuPressure
                    : resource == "memory" ? kMemoryPressure
                    : resource == "io"     ? kIoPressure
                                           : kSlots;
  if (slot == kSlots) {
    return Error{
        Errc::kRange,
        fmt::format("pressure: expected cpu, memory or io, got '{}'", resource.substr(0, 40))};
  }
  return impl_->read_optional(path, slot, parse_psi);
}

Result<std::vector<IoCounters>> CgroupCounters::io(const CgroupPath& path) {
  if (impl_->version == CgroupVersion::kV2)
    return impl_->read_optional(path, kIoStat, parse_io_stat);
  // Two files: the text of the first must be taken over before the second is read.
  const auto bytes = impl_->read_optional(
      path, kIoStat, [](std::string_view text) { return Result<std::string>{std::string{text}}; });
  if (!bytes) return bytes.error();
  return impl_->read_optional(
      path, kIoServiced, [&](std::string_view serviced) { return parse_blkio(*bytes, serviced); });
}

Result<std::map<int, Bytes>> CgroupCounters::numa(const CgroupPath& path) {
  if (impl_->version == CgroupVersion::kV2)
    return impl_->read_optional(path, kNumaStat, parse_cgroup_numa_v2);
  static const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  return impl_->read_optional(
      path, kNumaStat, [](std::string_view text) { return parse_cgroup_numa_v1(text, page); });
}

void CgroupCounters::forget(const CgroupPath& path) {
  for (std::uint32_t slot = 0; slot < kSlots; ++slot) impl_->cache.forget(path, slot);
}

std::size_t CgroupCounters::open_files() const { return impl_->cache.open_files(); }

}  // namespace koordlet::kernel
