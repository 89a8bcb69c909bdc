#include "kernel/perf_group.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <mutex>
#include <perfmon/pfmlib.h>
#include <perfmon/pfmlib_perf_event.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fmt/format.h>

#include "kernel/cgroup_names.hpp"
#include "kernel/cpu_info.hpp"

namespace koordlet::kernel {
namespace {

constexpr std::uint64_t kMostValues = 64;

/// libpfm4 is a process-wide table, made once and never undone.
Result<void> load_pfm() {
  static std::once_flag once;
  static int rc = PFM_ERR_NOTSUPP;
  std::call_once(once, [] { rc = pfm_initialize(); });
  if (rc == PFM_SUCCESS) return {};
  return Error{Errc::kNotSupported, fmt::format("perf events: libpfm4: {}", pfm_strerror(rc))};
}

Result<perf_event_attr> encode(const PerfEventSpec& event) {
  if (const auto loaded = load_pfm(); !loaded) return loaded.error();
  perf_event_attr attr{};
  attr.size = sizeof attr;
  pfm_perf_encode_arg_t arg{};
  arg.attr = &attr;
  arg.size = sizeof arg;
  const int rc =
      pfm_get_os_event_encoding(event.name.c_str(), PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT, &arg);
  if (rc != PFM_SUCCESS) {
    return Error{Errc::kNotFound, fmt::format("perf event '{}': {}", event.name, pfm_strerror(rc))};
  }
  attr.disabled = 1;
  attr.inherit = 0;
  attr.exclude_hv = 1;
  attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
                     PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_ID;
  return attr;
}

Result<std::vector<perf_event_attr>> encode_all(const std::vector<PerfEventSpec>& events) {
  if (events.empty() || events.size() > kMostValues) {
    return Error{
        Errc::kRange,
        fmt::format("perf group of {} events: expected 1 to {}", events.size(), kMostValues)};
  }
  std::vector<perf_event_attr> out;
  for (const auto& event : events) {
    const auto attr = encode(event);
    if (!attr) return attr.error();
    out.push_back(*attr);
  }
  // The leader starts and stops the group: its members follow it.
  for (std::size_t i = 1; i < out.size(); ++i) out[i].disabled = 0;
  return out;
}

struct Target {
  pid_t pid;  ///< or the descriptor of a cgroup's directory
  int cpu;
  unsigned long flags;
};

/// `what` names the event and where it was wanted.
Result<Fd> open_event(perf_event_attr attr,
                      const Target& target,
                      const std::vector<Fd>& group,
                      const std::string& what) {
  const int leader = group.empty() ? -1 : group.front().get();
  const auto fd =
      ::syscall(SYS_perf_event_open, &attr, target.pid, target.cpu, leader, target.flags);
  if (fd >= 0) return Fd{static_cast<int>(fd)};
  const int err = errno;
  auto error = errno_error(err, what, "perf_event_open");
  if (err == ENOENT || err == ENODEV) error.code = Errc::kNotFound;  // no such counter here
  return error;
}

Result<void> control(int leader, unsigned long request, const char* what) {
  if (::ioctl(leader, request, PERF_IOC_FLAG_GROUP) == 0) return {};
  return errno_error(errno, "perf group", what);
}

}  // namespace

std::vector<PerfEventSpec> interference_events(const HostRoots& roots) {
  std::vector<PerfEventSpec> out{{"PERF_COUNT_HW_CPU_CYCLES"}, {"PERF_COUNT_HW_INSTRUCTIONS"}};
  const auto model = read_cpu_model(roots);
  if (model && model->vendor == "AuthenticAMD") return out;
  out.push_back({"PERF_COUNT_HW_CACHE_REFERENCES"});
  out.push_back({"PERF_COUNT_HW_CACHE_MISSES"});
  return out;
}

Result<PerfGroupReading> parse_perf_group(std::span<const std::byte> bytes) {
  const auto word = [&](std::size_t index) {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data() + index * sizeof value, sizeof value);
    return value;
  };
  constexpr std::size_t kWord = sizeof(std::uint64_t), kHead = 3;
  if (bytes.size() < kHead * kWord) {
    return Error{
        Errc::kParse,
        fmt::format("perf group: expected {} bytes or more, got {}", kHead * kWord, bytes.size())};
  }
  const auto count = word(0);
  if (count > kMostValues || bytes.size() < (kHead + 2 * count) * kWord) {
    return Error{Errc::kParse,
                 fmt::format("perf group: {} values in {} bytes", count, bytes.size())};
  }
  PerfGroupReading out;
  out.enabled_ns = word(1);
  out.running_ns = word(2);
  for (std::uint64_t i = 0; i < count; ++i)
    out.values.push_back({word(kHead + 2 * i), word(kHead + 2 * i + 1)});
  return out;
}

std::optional<double> scaled(std::uint64_t value,
                             std::uint64_t enabled_ns,
                             std::uint64_t running_ns) {
  if (enabled_ns == 0 || running_ns == 0) return std::nullopt;
  // A group that ran all the time is exact.
  if (running_ns >= enabled_ns) return static_cast<double>(value);
  return static_cast<double>(value) * static_cast<double>(enabled_ns) /
         static_cast<double>(running_ns);
}

Result<PerfGroup> PerfGroup::open(const std::string& directory,
                                  const std::vector<PerfEventSpec>& events,
                                  const CpuSet& cpus) {
  const auto attrs = encode_all(events);
  if (!attrs) return attrs.error();
  const Fd cgroup{::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!cgroup) return errno_error(errno, directory, "open");
  PerfGroup out;
  out.event_count_ = events.size();
  for (int cpu = 0; cpu < CpuSet::kMaxCpus; ++cpu) {
    if (!cpus.contains(cpu)) continue;
    CpuGroup group;
    group.cpu = cpu;
    for (std::size_t i = 0; i < attrs->size(); ++i) {
      const auto what = fmt::format("{}: {} on cpu {}", directory, events[i].name, cpu);
      const Target target{cgroup.get(), cpu, PERF_FLAG_PID_CGROUP | PERF_FLAG_FD_CLOEXEC};
      auto fd = open_event((*attrs)[i], target, group.events, what);
      if (!fd) return fd.error();
      std::uint64_t id = 0;
      if (::ioctl(fd->get(), PERF_EVENT_IOC_ID, &id) != 0)
        return errno_error(errno, what, "PERF_EVENT_IOC_ID");
      group.events.push_back(std::move(*fd));
      group.ids.push_back(id);
    }
    out.groups_.push_back(std::move(group));
  }
  return out;
}

Result<void> PerfGroup::start() {
  for (const auto& group : groups_) {
    const int leader = group.events.front().get();
    if (auto ok = control(leader, PERF_EVENT_IOC_RESET, "reset"); !ok) return ok;
    if (auto ok = control(leader, PERF_EVENT_IOC_ENABLE, "enable"); !ok) return ok;
  }
  return {};
}

Result<PerfCounts> PerfGroup::stop_and_read() {
  PerfCounts out;
  out.values.resize(event_count_);
  std::vector<std::byte> buffer((3 + 2 * kMostValues) * sizeof(std::uint64_t));
  for (const auto& group : groups_) {
    const int leader = group.events.front().get();
    if (auto ok = control(leader, PERF_EVENT_IOC_DISABLE, "disable"); !ok) return ok.error();
    const auto n = ::read(leader, buffer.data(), buffer.size());
    const auto what = fmt::format("perf group on cpu {}", group.cpu);
    if (n < 0) return errno_error(errno, what, "read");
    const auto reading = parse_perf_group({buffer.data(), static_cast<std::size_t>(n)});
    if (!reading) return wrap(what, reading.error());
    for (const auto& value : reading->values) {
      const auto at = std::find(group.ids.begin(), group.ids.end(), value.id);
      if (at == group.ids.end()) continue;
      // The cgroup did not run on this CPU: it adds nothing, and says nothing either.
      const auto count = scaled(value.value, reading->enabled_ns, reading->running_ns);
      if (!count) continue;
      auto& sum = out.values[static_cast<std::size_t>(at - group.ids.begin())];
      sum = sum.value_or(0) + *count;
    }
  }
  return out;
}

std::size_t PerfGroup::open_files() const {
  std::size_t out = 0;
  for (const auto& group : groups_) out += group.events.size();
  return out;
}

std::optional<std::string> perf_cgroup_directory(const HostRoots& roots,
                                                 CgroupVersion version,
                                                 const CgroupPath& cgroup) {
  const auto root = cgroup_dir(roots, version, "perf_event", CgroupPath{});
  struct stat st {};
  if (::stat(root.c_str(), &st) != 0 || !S_ISDIR(st.st_mode)) return std::nullopt;
  return cgroup_dir(roots, version, "perf_event", cgroup);
}

Result<void> probe_perf_events(const std::vector<PerfEventSpec>& events) {
  const auto attrs = encode_all(events);
  if (!attrs) return attrs.error();
  std::vector<Fd> group;
  for (std::size_t i = 0; i < attrs->size(); ++i) {
    auto fd = open_event((*attrs)[i],
                         {0, -1, PERF_FLAG_FD_CLOEXEC},
                         group,
                         fmt::format("perf event {}", events[i].name));
    if (!fd) return fd.error();
    group.push_back(std::move(*fd));
  }
  return {};
}

}  // namespace koordlet::kernel
