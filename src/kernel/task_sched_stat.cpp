#include "kernel/task_sched_stat.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "base/parse.hpp"
#include "kernel/cgroup_names.hpp"
#include "kernel/fd.hpp"

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

}  // namespace

Result<SchedStat> parse_sched_stat(std::string_view text) {
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
  const auto list = read_file(cgroup_file(roots_, version_, kThreads, cgroup), 16u << 20);
  if (!list) {
    forget(cgroup);
    return list.error();
  }
  auto& known = known_[cgroup];
  std::map<int, SchedStat> threads;
  std::string_view rest{*list};
  while (const auto line = next_line(rest)) {
    const auto tid = parse_u64(trim(*line));
    if (!tid || *tid == 0 || *tid > (1u << 30)) continue;
    // A thread's own directory is at /proc/<tid> too, though it is not listed there.
    const auto text = read_file(fmt::format("{}/{}/schedstat", roots_.proc, *tid), 4096);
    if (!text) continue;  // ended meanwhile
    const auto now = parse_sched_stat(*text);
    if (!now) return wrap(fmt::format("thread {} schedstat", *tid), now.error());
    const auto id = static_cast<int>(*tid);
    const auto before = known.threads.find(id);
    // The id was given to another thread: what the old one had stays in the sum.
    if (before != known.threads.end() && went_back(before->second, *now))
      add(known.ended, before->second);
    threads[id] = *now;
  }
  for (const auto& [id, last] : known.threads) {
    if (!threads.contains(id)) add(known.ended, last);
  }
  known.threads = std::move(threads);
  SchedStat sum = known.ended;
  for (const auto& [id, stat] : known.threads) add(sum, stat);
  RunQueueCounters out;
  out.wait = time_of(sum.wait_ns);
  out.run = time_of(sum.run_ns);
  out.dispatches = sum.slices;
  return out;
}

void TaskSchedStats::forget(const CgroupPath& cgroup) { known_.erase(cgroup); }

}  // namespace koordlet::kernel
