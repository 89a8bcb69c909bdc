#include "kernel/perf_group_events.hpp"

#include <cerrno>
#include <sys/syscall.h>
#include <unistd.h>

#include <fmt/format.h>
// Brings a perf_event.h of its own: <linux/perf_event.h> is not included beside it.
#include <perfmon/pfmlib_perf_event.h>

#include "kernel/cpu_info.hpp"

namespace koordlet::kernel {
namespace {

constexpr std::size_t kMostEvents = 64;

/// Its table of events, made once a process and never undone.
int load_pfm() {
  static const int rc = pfm_initialize();
  return rc;
}

Result<perf_event_attr> encode(const std::string& name) {
  if (const int rc = load_pfm(); rc != PFM_SUCCESS)
    return Error{Errc::kNotSupported, fmt::format("libpfm4: {}", pfm_strerror(rc))};
  perf_event_attr attr{};
  pfm_perf_encode_arg_t arg{};
  arg.attr = &attr;
  arg.size = sizeof arg;
  const int rc =
      pfm_get_os_event_encoding(name.c_str(), PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT_EXT, &arg);
  if (rc != PFM_SUCCESS) {
    return Error{Errc::kNotFound,
                 fmt::format("perf event '{}': libpfm4: {}", name, pfm_strerror(rc))};
  }
  attr.size = sizeof attr;
  attr.inherit = 0;
  attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
                     PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_ID;
  return attr;
}

Error open_error(int err, const std::string& event, const std::string& where) {
  auto out = errno_error(err, fmt::format("perf event '{}' {}", event, where), "perf_event_open");
  if (err == ENODEV) out.code = Errc::kNotSupported;  // an offline CPU is no vanished cgroup
  if (err == EBADF) out.code = Errc::kInvalid;        // no directory of a cgroup
  return out;
}

}  // namespace

Result<std::vector<Fd>> open_perf_group(const std::vector<PerfEventSpec>& events,
                                        const PerfTarget& target,
                                        const std::string& where) {
  if (events.empty() || events.size() > kMostEvents) {
    return Error{
        Errc::kRange,
        fmt::format("perf group: expected 1 to {} events, got {}", kMostEvents, events.size())};
  }
  const unsigned long flags =
      PERF_FLAG_FD_CLOEXEC | (target.is_cgroup ? PERF_FLAG_PID_CGROUP : 0UL);
  std::vector<Fd> out;
  for (const auto& event : events) {
    auto attr = encode(event.name);
    if (!attr) return attr.error();
    // The leader starts and stops the group, its members follow.
    attr->disabled = out.empty() ? 1 : 0;
    const int leader = out.empty() ? -1 : out.front().get();
    const auto fd = ::syscall(SYS_perf_event_open, &*attr, target.pid, target.cpu, leader, flags);
    if (fd < 0) return open_error(errno, event.name, where);
    out.emplace_back(static_cast<int>(fd));
  }
  return out;
}

std::vector<PerfEventSpec> interference_events(const HostRoots& roots) {
  std::vector<PerfEventSpec> out{{"PERF_COUNT_HW_CPU_CYCLES"}, {"PERF_COUNT_HW_INSTRUCTIONS"}};
  const auto model = read_cpu_model(roots);
  if (!model || model->vendor != "GenuineIntel") return out;
  out.push_back({"PERF_COUNT_HW_CACHE_REFERENCES"});
  out.push_back({"PERF_COUNT_HW_CACHE_MISSES"});
  return out;
}

Result<void> probe_perf_events(const std::vector<PerfEventSpec>& events) {
  const auto group = open_perf_group(events, {}, "on this thread");
  if (!group) return group.error();
  return {};
}

}  // namespace koordlet::kernel
