#include "kernel/sched_latency.hpp"

#include <algorithm>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <cerrno>
#include <iterator>
#include <kernel/bpf/sched_latency.h>
#include <sched_latency.skel.h>
#include <unistd.h>

#include <fmt/format.h>

#include "kernel/bpf_library.hpp"
#include "kernel/fd.hpp"

namespace koordlet::kernel {
namespace {

constexpr const char* kSubject = "BPF scheduling latency";
static_assert(kLatencySlots == KOORDLET_LATENCY_SLOTS);
static_assert(sizeof(koordlet_latency) % 8 == 0, "the kernel rounds values of a CPU up to 8");

constexpr std::size_t kMostCgroups = 1 << 20;
/// Before 6.8 the counters are best allocated at load, for each CPU that could ever be plugged in
/// and each cgroup that could come: at most so much. Since then by need, a few at a time (what 6.1
/// to 6.7 keep in reserve for that is more than the table itself).
constexpr std::size_t kAllocatedAtLoad = 64 << 20;
constexpr KernelVersion kAllocatesByNeed{6, 8};

struct Destroy {
  void operator()(sched_latency_bpf* skeleton) const { sched_latency_bpf__destroy(skeleton); }
};
using Skeleton = std::unique_ptr<sched_latency_bpf, Destroy>;

class BpfSchedLatency final : public SchedLatency {
 public:
  BpfSchedLatency(Skeleton skeleton, int cpus, std::size_t capacity)
      : skeleton_{std::move(skeleton)},
        latency_{bpf_map__fd(skeleton_->maps.latency)},
        best_effort_{bpf_map__fd(skeleton_->maps.best_effort)},
        capacity_{capacity},
        by_cpu_(static_cast<std::size_t>(cpus)) {}

  Result<void> set_best_effort(const std::vector<Inode>& cgroups) override;
  Result<std::optional<RunQueueCounters>> read(Inode cgroup) override;
  void forget(Inode cgroup) override { static_cast<void>(erase(cgroup)); }
  Result<std::size_t> keep_only(const std::vector<Inode>& alive) override;
  std::uint64_t dropped() const override {
    return __atomic_load_n(&skeleton_->bss->dropped, __ATOMIC_RELAXED);
  }

 private:
  bool erase(Inode cgroup);

  Skeleton skeleton_;
  int latency_;      ///< descriptors of the maps, owned by the skeleton
  int best_effort_;  ///< the same
  std::size_t capacity_;
  std::vector<koordlet_latency> by_cpu_;  ///< what one read brings, kept for the next
  std::vector<Inode> listed_;             ///< content of the best-effort map, sorted
  std::vector<Inode> keys_;
};

Result<void> BpfSchedLatency::set_best_effort(const std::vector<Inode>& cgroups) {
  std::vector<Inode> wanted = cgroups;
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  if (wanted.size() > capacity_) {
    return Error{
        Errc::kRange,
        fmt::format(
            "{}: {} best-effort cgroups, expected at most {}", kSubject, wanted.size(), capacity_)};
  }
  std::vector<Inode> gone, fresh;
  std::set_difference(
      listed_.begin(), listed_.end(), wanted.begin(), wanted.end(), std::back_inserter(gone));
  std::set_difference(
      wanted.begin(), wanted.end(), listed_.begin(), listed_.end(), std::back_inserter(fresh));
  for (const Inode id : gone) bpf_map_delete_elem(best_effort_, &id);
  Result<void> ok;
  for (const Inode id : fresh) {
    const std::uint8_t listed = 1;
    const int rc = bpf_map_update_elem(best_effort_, &id, &listed, BPF_ANY);
    if (rc == 0) continue;
    ok = errno_error(-rc, kSubject, fmt::format("list the best-effort cgroup {}", id));
    wanted.erase(std::lower_bound(wanted.begin(), wanted.end(), id));
  }
  listed_ = std::move(wanted);
  skeleton_->bss->best_effort_cgroups = static_cast<__u32>(listed_.size());
  return ok;
}

Result<std::optional<RunQueueCounters>> BpfSchedLatency::read(Inode cgroup) {
  const int rc = bpf_map_lookup_elem(latency_, &cgroup, by_cpu_.data());
  if (rc == -ENOENT) return std::optional<RunQueueCounters>{};
  if (rc != 0) return errno_error(-rc, kSubject, fmt::format("read the cgroup {}", cgroup));
  koordlet_latency sum{};
  for (const auto& cpu : by_cpu_) {
    sum.wait_ns += cpu.wait_ns;
    sum.dispatches += cpu.dispatches;
    sum.behind_best_effort_ns += cpu.behind_best_effort_ns;
    for (std::size_t i = 0; i < kLatencySlots; ++i) sum.slots[i] += cpu.slots[i];
  }
  RunQueueCounters out;
  out.wait = std::chrono::nanoseconds{sum.wait_ns};
  out.dispatches = sum.dispatches;
  out.behind_best_effort = std::chrono::nanoseconds{sum.behind_best_effort_ns};
  std::copy(std::begin(sum.slots), std::end(sum.slots), out.slots.emplace().begin());
  return std::optional{out};
}

bool BpfSchedLatency::erase(Inode cgroup) {
  if (bpf_map_delete_elem(latency_, &cgroup) != 0) return false;
  __atomic_store_n(&skeleton_->bss->table_full, 0, __ATOMIC_RELAXED);
  return true;
}

Result<std::size_t> BpfSchedLatency::keep_only(const std::vector<Inode>& alive) {
  // All keys first: erasing the one that the walk stands on would send it back to the start. What
  // the programs add meanwhile may or may not be seen, and cannot make it endless.
  keys_.clear();
  Inode key = 0;
  int rc = bpf_map_get_next_key(latency_, nullptr, &key);
  for (; rc == 0 && keys_.size() <= 2 * capacity_;
       rc = bpf_map_get_next_key(latency_, &key, &key)) {
    keys_.push_back(key);
  }
  if (rc != 0 && rc != -ENOENT) return errno_error(-rc, kSubject, "walk the table");
  std::size_t erased = 0;
  for (const Inode id : keys_) {
    if (!std::binary_search(alive.begin(), alive.end(), id) && erase(id)) ++erased;
  }
  return erased;
}

/// Gives the tasks that are already there their storage (see sched_latency.bpf.c).
int prepare_tasks(sched_latency_bpf& skeleton) {
  bpf_link* const link = bpf_program__attach_iter(skeleton.progs.koordlet_tasks, nullptr);
  if (link == nullptr) return -errno;
  int rc = 0;
  {
    const Fd pass{bpf_iter_create(bpf_link__fd(link))};
    if (!pass) rc = -errno;
    char nothing[16];  // the program prints nothing; after a million tasks the kernel says EAGAIN
    ssize_t n = pass ? 1 : 0;
    while (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR))) {
      n = ::read(pass.get(), nothing, sizeof nothing);
    }
    if (n < 0) rc = -errno;
  }
  bpf_link__destroy(link);
  return rc;
}

int attach(sched_latency_bpf& skeleton) {
  auto& links = skeleton.links;
  auto& programs = skeleton.progs;
  links.koordlet_fork = bpf_program__attach(programs.koordlet_fork);
  if (links.koordlet_fork == nullptr) return -errno;
  if (const int rc = prepare_tasks(skeleton); rc != 0) return rc;
  links.koordlet_switch = bpf_program__attach(programs.koordlet_switch);
  if (links.koordlet_switch == nullptr) return -errno;
  links.koordlet_new = bpf_program__attach(programs.koordlet_new);
  if (links.koordlet_new == nullptr) return -errno;
  links.koordlet_wakeup = bpf_program__attach(programs.koordlet_wakeup);
  return links.koordlet_wakeup == nullptr ? -errno : 0;
}

}  // namespace

Result<std::unique_ptr<SchedLatency>> SchedLatency::open(CgroupVersion version,
                                                         std::size_t max_cgroups) {
  if (max_cgroups == 0 || max_cgroups > kMostCgroups) {
    return Error{
        Errc::kRange,
        fmt::format(
            "{}: table of {} cgroups, expected 1 to {}", kSubject, max_cgroups, kMostCgroups)};
  }
  BpfMessages messages;
  Skeleton skeleton{sched_latency_bpf__open()};
  if (!skeleton) return messages.error(errno, kSubject, "open");
  const int cpus = libbpf_num_possible_cpus();
  if (cpus <= 0) return messages.error(cpus, kSubject, "count CPUs");

  auto& maps = skeleton->maps;
  const bool by_need = running_kernel() >= kAllocatesByNeed;
  const auto fitting =
      kAllocatedAtLoad / (sizeof(koordlet_latency) * static_cast<std::size_t>(cpus));
  const auto capacity = by_need ? max_cgroups : std::min(max_cgroups, std::max(fitting, 1UL));
  skeleton->rodata->default_hierarchy = version == CgroupVersion::kV2;
  bpf_map__set_max_entries(maps.latency, static_cast<__u32>(capacity));
  if (by_need) bpf_map__set_map_flags(maps.latency, BPF_F_NO_PREALLOC);
  bpf_map__set_max_entries(maps.best_effort, static_cast<__u32>(max_cgroups));
  bpf_map__set_max_entries(maps.clocks, static_cast<__u32>(cpus));

  int rc = sched_latency_bpf__load(skeleton.get());
  if (rc != 0) return messages.error(rc, kSubject, "load");
  rc = attach(*skeleton);
  if (rc != 0) return messages.error(rc, kSubject, "attach");
  return std::unique_ptr<SchedLatency>{
      std::make_unique<BpfSchedLatency>(std::move(skeleton), cpus, max_cgroups)};
}

}  // namespace koordlet::kernel
