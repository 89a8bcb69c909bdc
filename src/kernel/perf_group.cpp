#include "kernel/perf_group.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <perfmon/pfmlib_perf_event.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/parse.hpp"
#include "kernel/cgroup_names.hpp"
#include "kernel/perf_group_events.hpp"

namespace koordlet::kernel {
namespace {

constexpr std::size_t kMostBytes = (3 + 2 * 64) * sizeof(std::uint64_t);

/// Where messages say that something happened.
std::string on_cpu(int cpu) { return fmt::format("on CPU {}", cpu); }

Result<void> control(int leader, unsigned long request, int cpu, const char* action) {
  if (::ioctl(leader, request, PERF_IOC_FLAG_GROUP) == 0) return {};
  return errno_error(errno, fmt::format("perf group {}", on_cpu(cpu)), action);
}

Result<std::vector<std::uint64_t>> ids_of(const std::vector<Fd>& group, int cpu) {
  std::vector<std::uint64_t> out;
  for (const auto& event : group) {
    std::uint64_t id = 0;
    if (::ioctl(event.get(), PERF_EVENT_IOC_ID, &id) != 0)
      return errno_error(errno, fmt::format("perf group {}", on_cpu(cpu)), "id");
    out.push_back(id);
  }
  return out;
}

Result<PerfGroupReading> read_group(int leader, int cpu) {
  std::array<std::byte, kMostBytes> buffer;
  const auto what = fmt::format("perf group {}", on_cpu(cpu));
  ssize_t n = -1;
  do {
    n = ::read(leader, buffer.data(), buffer.size());
  } while (n < 0 && errno == EINTR);
  if (n < 0) return errno_error(errno, what, "read");
  auto reading = parse_perf_group({buffer.data(), static_cast<std::size_t>(n)});
  if (!reading) return wrap(what, reading.error());
  return reading;
}

/// Line "perf_event <hierarchy> <cgroups> <enabled>" says 0: the unified hierarchy has it.
bool is_perf_unified(const HostRoots& roots) {
  const auto text = read_file(roots.proc + "/cgroups");
  if (!text) return false;
  std::string_view rest = *text;
  while (auto line = next_line(rest)) {
    if (next_field(*line) != "perf_event") continue;
    return next_field(*line) == "0";
  }
  return false;
}

bool has_tasks(const std::string& directory) {
  const auto text = read_file(directory + "/cgroup.events");
  if (!text) return false;
  std::string_view rest = *text;
  while (const auto line = next_line(rest)) {
    if (*line == "populated 1") return true;
  }
  return false;
}

}  // namespace

Result<PerfGroup> PerfGroup::open(const std::string& directory,
                                  const std::vector<PerfEventSpec>& events,
                                  const CpuSet& cpus) {
  if (cpus.empty()) return Error{Errc::kRange, "perf group: expected at least one CPU"};
  const auto gone = [&] {
    return Error{Errc::kGone, fmt::format("perf group: {}: no such cgroup", directory)};
  };
  const Fd cgroup{::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!cgroup && errno == ENOENT) return gone();
  if (!cgroup) return errno_error(errno, directory, "open");
  PerfGroup out;
  out.event_count_ = events.size();
  for (int cpu = 0; cpu < CpuSet::kMaxCpus; ++cpu) {
    if (!cpus.contains(cpu)) continue;
    auto group = open_perf_group(events, {cgroup.get(), cpu, true}, on_cpu(cpu));
    if (!group) {
      // The kernel says ENOENT to both: no such counter, and a cgroup removed meanwhile.
      if (group.error().code == Errc::kNotFound && !is_directory(directory)) return gone();
      return wrap(directory, group.error());
    }
    auto ids = ids_of(*group, cpu);
    if (!ids) return ids.error();
    out.groups_.push_back({cpu, std::move(*group), std::move(*ids)});
  }
  return out;
}

Result<void> PerfGroup::start() {
  for (const auto& group : groups_) {
    const int leader = group.events.front().get();
    if (auto ok = control(leader, PERF_EVENT_IOC_RESET, group.cpu, "reset"); !ok) return ok;
    if (auto ok = control(leader, PERF_EVENT_IOC_ENABLE, group.cpu, "enable"); !ok) return ok;
  }
  return {};
}

Result<PerfCounts> PerfGroup::stop_and_read() {
  for (const auto& group : groups_) {
    const int leader = group.events.front().get();
    if (auto ok = control(leader, PERF_EVENT_IOC_DISABLE, group.cpu, "disable"); !ok)
      return ok.error();
  }
  std::vector<PerfCpuReading> readings;
  for (const auto& group : groups_) {
    auto reading = read_group(group.events.front().get(), group.cpu);
    if (!reading) return reading.error();
    readings.push_back({std::move(*reading), group.ids});
  }
  return sum_counts(readings, event_count_);
}

std::size_t PerfGroup::open_files() const {
  std::size_t out = 0;
  for (const auto& group : groups_) out += group.events.size();
  return out;
}

std::optional<std::string> perf_cgroup_directory(const HostRoots& roots,
                                                 CgroupVersion version,
                                                 const CgroupPath& cgroup) {
  constexpr std::string_view kController = "perf_event";
  if (version == CgroupVersion::kV2 ||
      is_directory(cgroup_dir(roots, version, kController, CgroupPath{})))
    return cgroup_dir(roots, version, kController, cgroup);
  const auto unified = cgroup_dir(roots, version, "unified", cgroup);
  if (!is_perf_unified(roots) || !is_directory(unified)) return std::nullopt;
  if (!cgroup.is_root() && !has_tasks(unified)) return std::nullopt;
  return unified;
}

}  // namespace koordlet::kernel
