#include "kernel/task_sched_stat.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <limits>
#include <optional>
#include <unistd.h>

#include <fmt/format.h>

#include "base/parse.hpp"
#include "kernel/cgroup_names.hpp"
#include "kernel/fd.hpp"
#include "kernel/lines.hpp"

namespace koordlet::kernel {
namespace {

constexpr FileName kThreads{"cpu", "tasks", "cgroup.threads"};

bool went_back(const SchedStat& before, const SchedStat& now) {
  return now.run_ns < before.run_ns || now.wait_ns < before.wait_ns || now.slices < before.slices;
}

void add(SchedStat& to, const SchedStat& part) {
  to.run_ns += part.run_ns;
  to.wait_ns += part.wait_ns;
  to.slices += part.slices;
}

std::chrono::nanoseconds time_of(std::uint64_t ns) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return std::chrono::nanoseconds{static_cast<std::int64_t>(std::min(ns, kMost))};
}

/// nullopt: there is no such thread (any more). Its own directory is at /proc/<tid> too, though it
/// is not listed there.
Result<std::optional<SchedStat>> read_thread(const HostRoots& roots, std::string_view tid) {
  const auto path = fmt::format("{}/{}/schedstat", roots.proc, tid);
  const Fd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!fd) {
    const int err = errno;
    if (err != ENOENT && err != ESRCH) return errno_error(err, path, "open");
    if (err == ENOENT && ::access(fmt::format("{}/{}", roots.proc, tid).c_str(), F_OK) == 0)
      return Error{Errc::kNotSupported, path + ": this kernel counts no waits of threads"};
    return std::optional<SchedStat>{};
  }
  char text[256];  // three numbers: one reading
  ssize_t n = -1;
  do {
    n = ::read(fd.get(), text, sizeof text);
  } while (n < 0 && errno == EINTR);
  if (n < 0 && errno == ESRCH) return std::optional<SchedStat>{};
  if (n < 0) return errno_error(errno, path, "read");
  const auto stat = parse_sched_stat({text, static_cast<std::size_t>(n)});
  if (!stat) return wrap(path, stat.error());
  return std::optional{*stat};
}

/// By thread id, of all that are in the list and still there.
Result<std::map<int, SchedStat>> read_threads(const HostRoots& roots, std::string_view list) {
  if (const auto whole = require_whole_lines(list); !whole) return whole.error();
  std::map<int, SchedStat> out;
  while (const auto line = next_line(list)) {
    const auto text = trim(*line);
    const auto tid = parse_u64(text);
    if (!tid || *tid > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) {
      return Error{Errc::kParse, fmt::format("expected a thread id, got '{}'", text.substr(0, 40))};
    }
    if (*tid == 0) continue;  // of a pid namespace that is not seen from here
    const auto stat = read_thread(roots, text);
    if (!stat) return stat.error();
    if (*stat) out[static_cast<int>(*tid)] = **stat;
  }
  return out;
}

/// Who reads this has run: zeros mean that the kernel was started without these counters.
bool counts_nothing(const HostRoots& roots) {
  const auto self = read_thread(roots, "self");
  return self && *self && (*self)->run_ns == 0 && (*self)->slices == 0;
}

}  // namespace

Result<SchedStat> parse_sched_stat(std::string_view text) {
  if (const auto whole = require_whole_lines(text); !whole) return whole.error();
  std::uint64_t values[3] = {};
  for (auto& value : values) {
    const auto field = next_field(text);
    if (!field) return Error{Errc::kParse, "expected run time, wait time and slices"};
    const auto n = parse_u64(*field);
    if (!n) return Error{Errc::kParse, n.error().context};
    value = *n;
  }
  return SchedStat{values[0], values[1], values[2]};
}

TaskSchedStats::TaskSchedStats(HostRoots roots, CgroupVersion version)
    : roots_{std::move(roots)}, version_{version} {}

Result<RunQueueCounters> TaskSchedStats::read(const CgroupPath& cgroup) {
  const auto file = cgroup_file(roots_, version_, kThreads, cgroup);
  const auto list = read_file(file, 16u << 20);
  if (!list) {
    auto error = explain_missing(list.error(), roots_, version_, kThreads.controller, cgroup);
    if (error.code == Errc::kNotFound || error.code == Errc::kGone) forget(cgroup);
    return error;
  }
  // All of them or none: what could not be read must not count as ended.
  auto threads = read_threads(roots_, *list);
  if (!threads) return wrap(file, threads.error());
  auto& known = known_[cgroup];
  for (const auto& [id, last] : known.threads) {
    const auto now = threads->find(id);
    // Ended, or its id was given to another thread: what it had stays in the sum.
    if (now == threads->end() || went_back(last, now->second)) add(known.ended, last);
  }
  known.threads = std::move(*threads);
  SchedStat sum = known.ended;
  for (const auto& [id, stat] : known.threads) add(sum, stat);
  if (sum.run_ns == 0 && sum.wait_ns == 0 && !known.threads.empty() && counts_nothing(roots_)) {
    return Error{Errc::kNotSupported, file + ": this kernel counts no waits of threads (all 0)"};
  }
  RunQueueCounters out;
  out.wait = time_of(sum.wait_ns);
  out.run = time_of(sum.run_ns);
  out.dispatches = sum.slices;
  return out;
}

void TaskSchedStats::forget(const CgroupPath& cgroup) { known_.erase(cgroup); }

}  // namespace koordlet::kernel
