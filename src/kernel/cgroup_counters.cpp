#include "kernel/cgroup_counters.hpp"

#include <limits>
#include <unistd.h>

#include <fmt/format.h>

#include "base/parse.hpp"
#include "kernel/cgroup_names.hpp"
#include "kernel/flat_keyed.hpp"
#include "kernel/group_files.hpp"
#include "kernel/lines.hpp"
#include "kernel/numa.hpp"

namespace koordlet::kernel {
namespace {

using std::chrono::nanoseconds;

enum Slot : std::size_t {
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
static_assert(kSlots <= GroupFiles::kMaxSlots);

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

/// Whole kernels lack these, or a cgroup whose controller is off: what is not there is remembered.
/// The others are asked for each time: a cgroup that is being made may get them in a moment.
bool may_be_absent(Slot slot) { return slot >= kCpuPressure; }

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
  if (const auto whole = require_whole_lines(text); !whole) return whole.error();
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
  GroupFiles files;
  std::string io_bytes{};  ///< v1: the first of two files, while the second is read

  std::string file(const CgroupPath& path, Slot slot) const {
    return cgroup_file(roots, version, name_of(slot), path);
  }
  GroupFiles::Kind kind(Slot slot) const {
    // On v2 usage and throttling stand in one file: one descriptor for both.
    const auto kept = version == CgroupVersion::kV2 && slot == kCpuUsage ? kCpuStat : slot;
    return {kept, may_be_empty(slot), may_be_absent(slot)};
  }

  template <class Parse>
  auto read(const CgroupPath& path, Slot slot, Parse&& parse)
      -> decltype(parse(std::string_view{})) {
    const auto text = files.read(
        path,
        kind(slot),
        [&] { return file(path, slot); },
        [&](Error error) {
          return explain_missing(std::move(error), roots, version, name_of(slot).controller, path);
        });
    if (!text) return text.error();
    auto value = parse(*text);
    if (!value) return wrap(file(path, slot), value.error());
    return value;
  }
};

CgroupCounters::CgroupCounters(HostRoots roots,
                               CgroupVersion version,
                               std::size_t descriptor_budget)
    : impl_{
          std::make_unique<Impl>(Impl{std::move(roots), version, GroupFiles{descriptor_budget}})} {}
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
  return impl_->read(path, slot, parse_psi);
}

Result<std::vector<IoCounters>> CgroupCounters::io(const CgroupPath& path) {
  if (impl_->version == CgroupVersion::kV2) return impl_->read(path, kIoStat, parse_io_stat);
  // Two files: the text of the first must be taken over before the second is read.
  auto& bytes = impl_->io_bytes;
  const auto first = impl_->read(path, kIoStat, [&](std::string_view text) -> Result<bool> {
    bytes.assign(text);
    return true;
  });
  if (!first) return first.error();
  return impl_->read(
      path, kIoServiced, [&](std::string_view serviced) { return parse_blkio(bytes, serviced); });
}

Result<std::map<int, Bytes>> CgroupCounters::numa(const CgroupPath& path) {
  if (impl_->version == CgroupVersion::kV2)
    return impl_->read(path, kNumaStat, parse_cgroup_numa_v2);
  static const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  return impl_->read(
      path, kNumaStat, [](std::string_view text) { return parse_cgroup_numa_v1(text, page); });
}

void CgroupCounters::forget(const CgroupPath& path) { impl_->files.forget(path); }

std::size_t CgroupCounters::open_files() const { return impl_->files.open_files(); }

}  // namespace koordlet::kernel
