#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/result.hpp"
#include "kernel/cgroup_fs.hpp"

namespace koordlet::kernel {

/// Counters of one cgroup as the kernel sums them, read without opening a file.
struct IteratedCgroup {
  std::chrono::nanoseconds cpu_usage{0};
  /// nullopt where the cpu controller is not enabled for the cgroup.
  struct Throttle {
    std::uint64_t periods = 0, throttled = 0;
    std::chrono::nanoseconds throttled_time{0};
  };
  std::optional<Throttle> throttle;
  /// PSI stall totals; up to 2 s old (the kernel averages that often). nullopt: PSI is off here.
  struct Pressure {
    std::chrono::microseconds cpu_some{0}, cpu_full{0}, memory_some{0}, memory_full{0}, io_some{0},
        io_full{0};
  };
  std::optional<Pressure> pressure;
  /// Bytes charged (memory.current); nullopt: no memory controller here.
  std::optional<std::uint64_t> memory_current;
};

/// All cgroups of one directory of a cgroup v2 tree, itself included, in one pass of a BPF iterator
/// that flushes the counters first (kernel 6.1 and later; reference floors 4.6). The top of the
/// tree is left out: the kernel keeps no counters for it. Pinned nowhere. One thread at a time.
class CgroupIterator {
 public:
  /// `directory`: absolute, on cgroup v2. `max_cgroups` bounds one pass. kNotSupported: kernel too
  /// old, no BTF, or no program variant loads here (the context says which step); kDenied: rights;
  /// kNotFound: no such directory. The directory itself is followed, not its name: one that is made
  /// anew under the same name needs another object.
  static Result<std::unique_ptr<CgroupIterator>> open(const std::string& directory,
                                                      std::size_t max_cgroups = 16'384);
  virtual ~CgroupIterator() = default;

  /// One pass, 1 us a cgroup; allocates only when cgroups came or went. What the pointer shows is
  /// valid until the next one; an error leaves the table of the last good pass. kGone: the
  /// directory was removed; kRange: more cgroups than `max_cgroups`.
  using Table = std::unordered_map<Inode, IteratedCgroup>;
  virtual Result<const Table*> read() = 0;
  /// "cgroup_rstat_flush" (6.1 to 6.15), "css_rstat_flush" (later): which variant runs.
  virtual std::string variant() const = 0;
};

}  // namespace koordlet::kernel
