#include "kernel/cgroup_iterator.hpp"

#include <algorithm>
#include <array>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <cerrno>
#include <cgroup_iterator.skel.h>
#include <fcntl.h>
#include <kernel/bpf/cgroup_iterator.h>
#include <linux/magic.h>
#include <span>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "kernel/bpf_library.hpp"
#include "kernel/fd.hpp"

namespace koordlet::kernel {
namespace {

constexpr const char* kSubject = "BPF cgroup iterator";
constexpr std::size_t kMostCgroups = 1 << 20;
/// From here on css_rstat_flush is in the place of cgroup_rstat_flush.
constexpr KernelVersion kFlushesBySubsystem{6, 16};

struct Destroy {
  void operator()(cgroup_iterator_bpf* skeleton) const { cgroup_iterator_bpf__destroy(skeleton); }
  void operator()(bpf_link* link) const { bpf_link__destroy(link); }
};
using Skeleton = std::unique_ptr<cgroup_iterator_bpf, Destroy>;
using Link = std::unique_ptr<bpf_link, Destroy>;

/// The array of records, as the program fills it.
class Records {
 public:
  Records() = default;
  Records(Records&& o) noexcept : all_{std::exchange(o.all_, {})}, bytes_{o.bytes_} {}
  Records& operator=(Records&&) = delete;
  ~Records() {
    if (!all_.empty()) ::munmap(const_cast<koordlet_cgroup*>(all_.data()), bytes_);
  }
  bool map(int fd, std::size_t count) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    bytes_ = (count * sizeof(koordlet_cgroup) + page - 1) / page * page;
    void* const at = ::mmap(nullptr, bytes_, PROT_READ, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) return false;
    all_ = {static_cast<const koordlet_cgroup*>(at), count};
    return true;
  }
  std::size_t size() const { return all_.size(); }
  std::span<const koordlet_cgroup> first(std::size_t n) const { return all_.first(n); }

 private:
  std::span<const koordlet_cgroup> all_;
  std::size_t bytes_ = 0;
};

void convert(const koordlet_cgroup& from, std::uint64_t page_bytes, IteratedCgroup& to) {
  using std::chrono::microseconds;
  using std::chrono::nanoseconds;
  to.cpu_usage = nanoseconds{from.cpu_ns};
  to.throttle.reset();
  if ((from.flags & KOORDLET_HAS_THROTTLE) != 0) {
    to.throttle = {from.periods, from.throttled, nanoseconds{from.throttled_ns}};
  }
  to.pressure.reset();
  if ((from.flags & KOORDLET_HAS_PRESSURE) != 0) {
    const auto us = [](__u64 ns) { return microseconds{ns / 1000}; };
    to.pressure = {us(from.cpu_some_ns),
                   us(from.cpu_full_ns),
                   us(from.memory_some_ns),
                   us(from.memory_full_ns),
                   us(from.io_some_ns),
                   us(from.io_full_ns)};
  }
  to.memory_current.reset();
  if ((from.flags & KOORDLET_HAS_MEMORY) != 0) to.memory_current = from.memory_pages * page_bytes;
}

class BpfCgroupIterator final : public CgroupIterator {
 public:
  BpfCgroupIterator(
      std::string directory, std::string variant, Skeleton skeleton, Link link, Records records)
      : directory_{std::move(directory)},
        variant_{std::move(variant)},
        skeleton_{std::move(skeleton)},
        link_{std::move(link)},
        records_{std::move(records)} {}

  Result<const Table*> read() override;
  std::string variant() const override { return variant_; }

 private:
  Result<void> pass();
  void fill(std::span<const koordlet_cgroup> records);

  /// Where the record of that place went last time. The walk goes the same way each time, so mostly
  /// the same cgroup comes at the same place and the table need not be searched. Nodes of the table
  /// do not move.
  struct Place {
    Inode id = 0;
    IteratedCgroup* value = nullptr;
  };
  std::string directory_;
  std::string variant_;
  Skeleton skeleton_;
  Link link_;
  Records records_;
  Table table_;
  std::vector<Place> places_;
};

/// One walk of the program over the tree.
Result<void> BpfCgroupIterator::pass() {
  skeleton_->bss->visited = 0;
  skeleton_->bss->recorded = 0;
  const Fd walk{bpf_iter_create(bpf_link__fd(link_.get()))};
  if (!walk) return errno_error(errno, directory_, "begin a pass of the BPF iterator");
  char nothing[16];  // the program prints nothing
  const ssize_t n = ::read(walk.get(), nothing, sizeof nothing);
  if (n < 0) return errno_error(errno, directory_, "run the BPF iterator");
  if (skeleton_->bss->visited == 0) return Error{Errc::kGone, directory_ + ": removed"};
  return {};
}

Result<const CgroupIterator::Table*> BpfCgroupIterator::read() {
  const auto ok = pass();
  if (!ok) return ok.error();
  const std::size_t count = skeleton_->bss->recorded;
  if (count > records_.size()) {
    return Error{
        Errc::kRange,
        fmt::format("{}: {} cgroups, expected at most {}", directory_, count, records_.size())};
  }
  fill(records_.first(count));
  return &table_;
}

void BpfCgroupIterator::fill(std::span<const koordlet_cgroup> records) {
  static const auto page_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  places_.resize(records.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    Place& place = places_[i];
    if (place.id != records[i].id || place.value == nullptr) {
      place = {records[i].id, &table_[records[i].id]};
    }
    convert(records[i], page_bytes, *place.value);
  }
  if (table_.size() == records.size()) return;  // nothing went
  std::vector<Inode> alive;
  alive.reserve(records.size());
  for (const auto& record : records) alive.push_back(record.id);
  std::sort(alive.begin(), alive.end());
  std::erase_if(table_, [&](const auto& entry) {
    return !std::binary_search(alive.begin(), alive.end(), entry.first);
  });
}

/// One of the two programs that do the same, loaded and tied to its directory.
struct Running {
  const char* variant;
  Skeleton skeleton;
  Link link;
};

Result<Running> start(bool by_subsystem, int directory, std::size_t max_cgroups) {
  BpfMessages messages;
  Running out{by_subsystem ? "css_rstat_flush" : "cgroup_rstat_flush",
              Skeleton{cgroup_iterator_bpf__open()},
              nullptr};
  const std::string subject = fmt::format("{} ({})", kSubject, out.variant);
  if (!out.skeleton) return messages.error(errno, subject, "open");
  auto& programs = out.skeleton->progs;
  bpf_program* const ours = by_subsystem ? programs.koordlet_css : programs.koordlet_cgroups;
  bpf_program* const other = by_subsystem ? programs.koordlet_cgroups : programs.koordlet_css;
  bpf_program__set_autoload(other, false);
  bpf_map__set_max_entries(out.skeleton->maps.records, static_cast<__u32>(max_cgroups));
  const int rc = cgroup_iterator_bpf__load(out.skeleton.get());
  if (rc != 0) return messages.error(rc, subject, "load");

  bpf_iter_link_info tree{};
  tree.cgroup.order = BPF_CGROUP_ITER_DESCENDANTS_PRE;
  tree.cgroup.cgroup_fd = static_cast<__u32>(directory);
  bpf_iter_attach_opts options{};
  options.sz = sizeof options;
  options.link_info = &tree;
  options.link_info_len = sizeof tree;
  out.link.reset(bpf_program__attach_iter(ours, &options));
  if (!out.link) return messages.error(errno, subject, "attach");
  return out;
}

/// The variant that suits the kernel's version, or the other one: versions of distributions promise
/// little.
Result<Running> start_either(int directory, std::size_t max_cgroups) {
  const bool newer = running_kernel() >= kFlushesBySubsystem;
  auto first = start(newer, directory, max_cgroups);
  if (first || first.error().code != Errc::kNotSupported) return first;
  auto second = start(!newer, directory, max_cgroups);
  if (second || second.error().code != Errc::kNotSupported) return second;
  return Error{Errc::kNotSupported, first.error().context + "; " + second.error().context};
}

}  // namespace

Result<std::unique_ptr<CgroupIterator>> CgroupIterator::open(const std::string& directory,
                                                             std::size_t max_cgroups) {
  if (max_cgroups == 0 || max_cgroups > kMostCgroups) {
    return Error{
        Errc::kRange,
        fmt::format(
            "{}: table of {} cgroups, expected 1 to {}", kSubject, max_cgroups, kMostCgroups)};
  }
  const Fd fd{::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!fd) return errno_error(errno, directory, "open");
  struct statfs system {};
  if (::fstatfs(fd.get(), &system) != 0) return errno_error(errno, directory, "statfs");
  if (system.f_type != CGROUP2_SUPER_MAGIC) {
    return Error{Errc::kNotSupported, directory + ": not on cgroup v2"};
  }
  auto running = start_either(fd.get(), max_cgroups);
  if (!running) return running.error();
  Records records;
  if (!records.map(bpf_map__fd(running->skeleton->maps.records), max_cgroups)) {
    return errno_error(errno, kSubject, "map the records");
  }
  return std::unique_ptr<CgroupIterator>{
      std::make_unique<BpfCgroupIterator>(directory,
                                          running->variant,
                                          std::move(running->skeleton),
                                          std::move(running->link),
                                          std::move(records))};
}

}  // namespace koordlet::kernel
